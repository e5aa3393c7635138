// Jobs and questions as the API shows them, and what pages do with them alike.
import { ApiError, del, get, pathOf, post } from './api';

export interface Job {
  job_id: string;
  ref: number;
  name: string | null;
  status: string;
  error: string | null;
  mode: string;
  convention: string;
  by: string;
  key: string | null;
  program: string | null;
  schedule: string | null;
  created_at: string;
  finished_at: string | null;
  duration_ms: number | null;
  steps: number;
}

export interface Step {
  step: string;
  status: string;
  duration_us: number;
  start_ms: number;
  exec_class: string;
  line: number;
  open?: boolean;
}

export interface Prompt {
  id: string;
  kind: 'confirm' | 'gather';
  to?: string;
  message: string;
  schema?: FormSchema;
  expires_at?: string;
}

export interface FormSchema {
  properties: Record<string, FieldSchema>;
  required?: string[];
}

export interface FieldSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  oneOf?: { const: string; title: string }[];
  items?: { enum?: string[]; anyOf?: { const: string; title: string }[] };
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  contentMediaType?: string;
}

export interface Answered {
  prompt_id: string;
  title: string;
  to: string | null;
  by: string;
  at: string;
  decision: string | null;
  note: string | null;
  receipt: string;
}

export interface JobError {
  code: string;
  message: string;
  file?: string;
  line?: number;
  column?: number;
  step?: string;
  limit?: string;
}

/** A job that a script has started. */
export interface JobChild {
  ref: number;
  status: string;
  program: string;
}

/** One job with all that its owner sees of it: GET /v1/jobs/{ref}. */
export interface JobHistory extends Omit<Job, 'error'> {
  result?: string;
  result_encoding?: string;
  trace?: Step[];
  trace_dropped?: number;
  prompt?: Prompt;
  confirm_url?: string;
  form_url?: string;
  resume_at?: string;
  error?: JobError;
  origin: number | null;
  parent?: { ref: number; status: string; name: string | null };
  children?: JobChild[];
  more_children?: boolean;
  source: { text: string; files: { path: string; text: string }[] } | null;
  request: Record<string, unknown> | null;
  input: Record<string, unknown> | null;
  request_omitted_bytes?: number;
  cost: { fuel: number; memory: number; output: number; fetches: number } | null;
  answers: Answered[];
}

export interface Question {
  id: string;
  state: string;
  kind: 'confirm' | 'gather' | null;
  to: string | null;
  title: string;
  job_id: string;
  ref: number;
  program: string | null;
  asked_at: string | null;
  expires_at: string | null;
  confirm_url?: string;
  form_url?: string;
}

/** What a job is called: its script's name, else its number. */
export const nameOf = (j: { name: string | null; ref: number }) => j.name ?? 'Job ' + j.ref;

const ended = new Set(['complete', 'failed', 'declined', 'cancelled', 'expired']);
export const isOver = (status: string) => ended.has(status);

/** Stops a job. One that has ended meanwhile stays as it is. */
export const cancel = (id: string) => del<unknown>('/v1/job/' + id);

/** Runs a job again, as another one, and returns the id of that. */
export async function repeat(ref: number, change: Record<string, unknown> = {}): Promise<string> {
  try {
    return (await post<{ job_id: string }>(`/v1/jobs/${ref}/repeat`, { mode: 'async', ...change })).job_id;
  } catch (e) {
    // A script that fails is a job like others.
    const failed = e instanceof ApiError ? (e.body as { job_id?: string } | undefined)?.job_id : undefined;
    if (!failed) throw e;
    return failed;
  }
}

/** The number of a job by its id. */
export async function refOf(id: string): Promise<number> {
  return (await get<{ ref: number }>('/v1/jobs/' + id)).ref;
}

export type Reply = { approved: boolean; note?: string } | { fields: Record<string, unknown> };
export interface Answer {
  status: string;
  prompt?: Prompt;
  answer?: { receipt: string; decision: string };
}

/** Answers a question, and that question alone. */
export function answer(confirmURL: string, promptID: string, reply: Reply): Promise<Answer> {
  return post(pathOf(confirmURL), { ...reply, prompt_id: promptID }, { query: { wait: 1 } });
}

/** Who answered, in words. */
export function byWhom(by: string): string {
  if (by === 'owner') return 'you';
  if (by === 'link') return 'somebody with the link';
  return by.replace(/^key /, 'the key ').replace(/^page /, 'the page ');
}
