// Calls a service by the types that openapi-typescript made of its OpenAPI document: api.ts, which
// the test writes. What it says beside @ts-expect-error must not compile.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

type Schemas = components["schemas"];

const auth: Schemas["Auth"] = { username: "dev", password: "dev" };
const client = createClient<paths>({ baseUrl: process.argv[2]!, headers: { Authorization: "Basic " + btoa("dev:dev") } });
// Where the credentials are in the body.
const caller = createClient<paths>({ baseUrl: process.argv[2]! });

function check(good: boolean, what: string, answer: unknown): asserts good {
  if (!good) throw new Error(what + ": " + JSON.stringify(answer));
}

async function query(q: Omit<Schemas["SentQuery"], "auth">) {
  const { data, error } = await caller.POST("/v1/query", { body: { auth, ...q } });
  check(data !== undefined, "query", error);
  return data;
}

async function sync() {
  const answer = await query({
    query: "EMIT 'Hello ' + !GET('name') + !REQUEST('header:Accept')",
    request: { path: "/", get: { name: "Ada" }, "header:Accept": "!" },
  });
  check(answer.status === "ok", "sync", answer);
  check(answer.result === "Hello Ada!" && answer.trace?.[0]?.exec_class === "Cpu", "sync", answer);
  const { data, error } = await caller.POST("/v1/query", { body: { auth, query: "FAIL 'no'", trace: false } });
  check(data === undefined && error.status === "failed" && error.error.message === "no", "failed", error);
}

// poll waits for the end of a job; the type of what it returns is that of its state.
async function poll(id: string): Promise<Schemas["Finished"]> {
  const { data: job, error } = await client.GET("/v1/job/{id}", { params: { path: { id }, query: { wait: 60 } } });
  check(job !== undefined, "poll", error);
  switch (job.status) {
    case "accepted":
    case "running":
    case "waiting":
    case "paused":
      return poll(job.job_id);
    case "complete":
    case "failed":
    case "declined":
    case "cancelled":
    case "expired":
      return job;
    default:
      return job satisfies never;
  }
}

async function asyncAndPoll() {
  const answer = await query({ query: "EMIT 1 + 1", mode: "async" });
  check(answer.status === "accepted", "async", answer);
  const job = await poll(answer.job_id);
  check(job.status === "complete" && job.result === "2", "poll", job);
}

async function reply(id: string, body: Schemas["Reply"]): Promise<string> {
  const { data: job, error } = await client.POST("/v1/confirm/{id}", { params: { path: { id } }, body });
  check(job?.status === "complete", "reply", job ?? error);
  return job.result;
}

async function paused(script: string): Promise<Schemas["Paused"]> {
  const answer = await query({ query: script });
  check(answer.status === "paused", "paused", answer);
  return answer;
}

async function answers() {
  const asked = await paused("CONFIRM 'Sure?' EMIT 'done'");
  check(asked.prompt?.kind === "confirm", "prompt", asked);
  const decided = await reply(asked.job_id, { approved: true, prompt_id: asked.prompt.id });
  check(decided === "done", "confirm", decided);
  const form = await paused("GATHER 'Who?' FIELDS name TEXT REQUIRED SET ?a EMIT ?a.name");
  check(form.prompt?.schema?.properties["name"]?.["type"] === "string", "schema", form);
  const gathered = await reply(form.job_id, { fields: { name: "Ada" } });
  check(gathered === "Ada", "gather", gathered);
}

async function files() {
  const path = "a folder/b.txt"; // whose slash the client encodes
  const stored = await client.PUT("/v1/files/{path}", {
    params: { path: { path } },
    headers: { "Content-Type": "text/plain" },
    body: "hello",
    bodySerializer: (text) => text,
  });
  check(stored.data?.path === "/" + path, "store", stored.error);
  const file = await client.GET("/v1/files/{path}", { params: { path: { path } }, parseAs: "text" });
  check(file.data === "hello", "file", file.error);
}

// What no caller may write.
export function mistakes(): unknown[] {
  // @ts-expect-error: there is no such field
  const more: Schemas["Auth"] = { username: "dev", password: "dev", more: 1 };
  // @ts-expect-error: one of the two is missing
  const nobody: Schemas["Auth"] = { username: "dev" };
  // @ts-expect-error: no such mode
  const mode: Schemas["SentQuery"] = { query: "", mode: "later" };
  // @ts-expect-error: neither a script nor the name of one
  const nothing: Schemas["Query"] = { mode: "sync" };
  // @ts-expect-error: a reply is one or the other
  const neither: Schemas["Reply"] = { prompt_id: "" };
  return [more, nobody, mode, nothing, neither];
}

await sync();
await asyncAndPoll();
await answers();
await files();
