// One run of a script: submitted as a job, followed by its events, answered where it asks. The job's id
// opens it to whoever has it, so it stays in memory; addresses name its number.
import { ApiError, events, get, post, request } from '../lib/api';
import { beforeFrame, breathe, giveWay, isTyping } from '../lib/frame';
import { isOver, type JobHistory, type Prompt, type Reply, type Step as Shown } from '../lib/jobs';
import { BlockText } from './text';

export interface Step extends Shown {
  file?: string;
  order?: number;
}
export interface RunError {
  code: string;
  message: string;
  line?: number;
  column?: number;
}
export interface Cost {
  fuel: number;
  memory: number;
  output: number;
  fetches: number;
}
/** What a command on a machine has put out, while it runs. */
export interface Command {
  machine: string;
  line: number;
  pieces: { text: string; isError: boolean }[];
}
interface Piece {
  machine: string;
  line: number;
  stdout?: string;
  stderr?: string;
  encoding?: string;
  skipped?: number;
}
interface Answer {
  status: string;
  job_id: string;
  error?: RunError;
  prompt?: Prompt;
  result_json?: unknown;
  response?: { headers?: Record<string, string>; status?: number };
}

/** As much of the output is shown; the rest is with the job. */
const mostShown = 32 << 20;
/** As much is read within a frame, and for so long: what follows is read in the next one, so that keys come first. */
const mostRead = 256 << 10;
const mostReadMs = 4;
/** While somebody types, less: the service and the rest of the browser, which all this comes through, wait then too. */
const mostReadTyping = 32 << 10;
/** More output than fits on any screen is then drawn so often: each drawing is a frame that a key waits for. */
const mostOnScreen = 64 << 10;
const drawnTypingMs = 200;
/** As much of what commands put out is shown: the last of it. */
const mostOfCommands = 256 << 10;
const mostPieces = 1000;

export class Run {
  status = $state('submitting');
  /** The output. It grows by itself: how much of it is to be shown is its size. */
  readonly text = new BlockText();
  size = $state(0);
  truncated = $state(false);
  steps = $state.raw<Step[]>([]);
  /** What commands on machines put out, which is told once and kept nowhere else. */
  commands = $state.raw<Command[]>([]);
  commandsCut = $state(false);
  prompt = $state.raw<Prompt | null>(null);
  error = $state.raw<RunError | null>(null);
  problem = $state.raw<ApiError | null>(null);
  json = $state.raw<unknown>(undefined);
  type = $state('');
  cost = $state.raw<Cost | null>(null);
  ref = $state<number | null>(null);
  resumeAt = $state<string | null>(null);
  began = Date.now();
  private id = '';
  private control = new AbortController();
  private newSteps: Step[] = [];
  private newPieces: Piece[] = [];
  private drawing = false;
  private read = 0; // characters since the last frame
  private readSince = 0;

  get output(): string {
    return this.text.slice();
  }

  /** What the output begins with. */
  get beginning(): string {
    return this.size === 0 ? '' : this.text.blocks[0]!.text;
  }

  get over(): boolean {
    return isOver(this.status) || this.problem !== null;
  }

  /** The run of a job that there is already; one that goes on is followed. */
  static of(j: JobHistory): Run {
    const run = new Run();
    run.id = j.job_id;
    run.ref = j.ref;
    run.cost = j.cost;
    run.steps = j.trace ?? [];
    run.take({ ...(j as unknown as Answer), status: j.status });
    if (isOver(j.status)) {
      void run.pour(j.result_encoding === 'base64' ? '[bytes that are no text]' : (j.result ?? ''));
    } else {
      run.steps = [];
      void run.follow().then(() => run.finish());
    }
    return run;
  }

  private follow(): Promise<void> {
    return events(`/v1/job/${this.id}/events`, { signal: this.control.signal, ended: () => this.over, onEvent: (e) => this.event(e.event, JSON.parse(e.data)) });
  }

  async start(script: string, more: Record<string, unknown>): Promise<void> {
    try {
      const r = await post<Answer>('/v1/query', { query: script, mode: 'async', ...more });
      this.take(r);
      this.id = r.job_id;
      await this.follow();
    } catch (e) {
      if (this.control.signal.aborted) return;
      if (e instanceof ApiError) {
        const failed = e.body as Answer | undefined;
        if (failed?.status === 'failed' && failed.error) this.take(failed);
        else this.problem = e;
      } else this.problem = new ApiError(0, 'page', String(e));
    }
    await this.finish();
  }

  private event(kind: string, data: unknown): Promise<void> | void {
    if (kind === 'output') {
      const o = data as { output: string; output_encoding?: string };
      const text = o.output_encoding === 'base64' ? '[bytes that are no text]' : o.output;
      this.read += text.length;
      this.append(text);
    } else if (kind === 'step') this.newSteps.push(data as Step);
    else if (kind === 'machine') this.newPieces.push(data as Piece);
    else if (kind === 'state') {
      this.draw();
      this.take(data as Answer & { resume_at?: string });
      return;
    }
    // Many events a second are drawn together.
    if (!this.drawing) {
      this.drawing = true;
      const draw = () => beforeFrame(() => this.draw());
      if (isTyping() && this.size > mostOnScreen) setTimeout(draw, drawnTypingMs);
      else draw();
    }
    if (this.read > (isTyping() ? mostReadTyping : mostRead) || performance.now() - this.readSince > mostReadMs) return this.rest();
  }

  private async rest(): Promise<void> {
    await (isTyping() ? giveWay() : breathe());
    this.read = 0;
    this.readSince = performance.now();
  }

  private append(text: string): void {
    const room = mostShown - this.text.length;
    if (text.length > room) this.truncated = true;
    this.text.append(text.slice(0, room));
  }

  /** Shows a text that is there as a whole, of which a long one would keep the page busy. */
  private async pour(text: string): Promise<void> {
    for (let at = 0; at < text.length; at += mostRead) {
      if (at > 0) await breathe();
      this.append(text.slice(at, at + mostRead));
      this.draw();
    }
  }

  private draw(): void {
    this.drawing = false;
    this.size = this.text.length;
    if (this.newSteps.length > 0) {
      this.steps = this.steps.concat(this.newSteps);
      this.newSteps = [];
    }
    if (this.newPieces.length > 0) {
      this.drawCommands(this.newPieces);
      this.newPieces = [];
    }
  }

  private drawCommands(more: Piece[]): void {
    const all = this.commands.map((c) => ({ ...c, pieces: c.pieces.slice() }));
    for (const p of more) {
      let last = all.at(-1);
      if (!last || last.machine !== p.machine || last.line !== p.line) all.push((last = { machine: p.machine, line: p.line, pieces: [] }));
      const isError = p.stderr !== undefined;
      let text = p.stderr ?? p.stdout ?? '';
      if (p.encoding === 'base64' && text !== '') text = '[bytes that are no text]';
      if (p.skipped) text += `\n[${p.skipped} bytes came too fast to be shown]\n`;
      const before = last.pieces.at(-1);
      if (before?.isError === isError) last.pieces[last.pieces.length - 1] = { text: before.text + text, isError };
      else last.pieces.push({ text, isError });
    }
    // The oldest goes first.
    let size = 0;
    let count = 0;
    for (const c of all) {
      count += c.pieces.length;
      for (const p of c.pieces) size += p.text.length;
    }
    while (size > mostOfCommands || count > mostPieces) {
      const first = all[0]!;
      const piece = first.pieces[0]!;
      const over = size - mostOfCommands;
      this.commandsCut = true;
      if (piece.text.length > over && count <= mostPieces) {
        first.pieces[0] = { ...piece, text: piece.text.slice(over) };
        break;
      }
      size -= piece.text.length;
      count--;
      first.pieces.shift();
      if (first.pieces.length === 0) all.shift();
    }
    this.commands = all;
  }

  private take(a: Answer & { resume_at?: string }): void {
    this.status = a.status === 'ok' ? 'complete' : a.status;
    this.prompt = a.status === 'paused' ? (a.prompt ?? null) : null;
    this.resumeAt = a.resume_at ?? null;
    if (a.error) this.error = a.error;
    if ('result_json' in a) this.json = a.result_json;
    if (a.response?.headers) {
      for (const [name, value] of Object.entries(a.response.headers)) if (name.toLowerCase() === 'content-type') this.type = value;
    }
  }

  private async finish(): Promise<void> {
    this.draw();
    if (this.id === '' || this.control.signal.aborted) return;
    try {
      const j = await get<{ ref: number; cost: Cost | null; trace?: Step[]; result_json?: unknown; response?: Answer['response'] }>('/v1/jobs/' + this.id);
      this.ref = j.ref;
      this.cost = j.cost;
      if (j.trace && j.trace.length >= this.steps.length) this.steps = j.trace;
      if ('result_json' in j) this.json = j.result_json;
      this.take({ status: this.status, job_id: this.id, response: j.response });
    } catch {
      // The run is shown; only its figures are missing.
    }
  }

  async answer(reply: Reply): Promise<void> {
    const asked = this.prompt;
    if (!asked) return;
    await post(`/v1/confirm/${this.id}?wait=0`, { ...reply, prompt_id: asked.id });
    if (this.prompt?.id === asked.id) {
      this.prompt = null;
      this.status = 'running';
    }
  }

  async cancel(): Promise<void> {
    if (this.id !== '' && !this.over) await request('DELETE', '/v1/job/' + this.id);
  }

  /** Stops following; the job goes on. */
  leave(): void {
    this.control.abort();
  }
}

