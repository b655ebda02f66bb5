import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, openSync, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { forgetProcess, reapProcess } from './reaper.js';

/** How to start a process and to detect that it is ready. */
export interface ChildOptions {
  /** For messages, for example `instance shard0`. */
  name: string;
  command: string;
  args: readonly string[];
  /** Additions to this process's environment. */
  env?: Readonly<Record<string, string>>;
  /** Opens a standard input until this process ends; without it there is none. */
  holdInput?: boolean;
  /** The first matching output line marks the process as ready. */
  ready: RegExp;
  readyWithin_ms: number;
  /** File for all output. */
  logFile: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Number of output lines in an error message. */
const tailLines = 15;

/** Time for an orderly end after SIGTERM, before SIGKILL. */
const stopGrace_ms = 10_000;

/** A process that never outlives this one: see `reaper.ts`. */
export class Child implements AsyncDisposable {
  /** Settles when the process has ended. */
  readonly exited: Promise<Exit>;
  readonly pid: number;
  exit: Exit | undefined;

  private constructor(
    readonly name: string,
    private readonly process: ChildProcess,
    pid: number,
    /** Groups of the line that matched `ready`. */
    readonly ready: RegExpExecArray,
    exited: Promise<Exit>,
  ) {
    this.pid = pid;
    this.exited = exited;
    void exited.then((exit) => (this.exit = exit));
  }

  /**
   * Starts the process and waits for its ready line.
   * @throws Error with the last lines of its output when it ends or stays silent instead
   */
  static async start(options: ChildOptions): Promise<Child> {
    // Opens the file immediately: a child that fails to start may be gone, along with the folder, before a stream opens
    // it.
    const log = createWriteStream(options.logFile, { fd: openSync(options.logFile, 'a') });
    const process_ = spawn(options.command, options.args, {
      env: { ...process.env, ...options.env },
      stdio: [options.holdInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      // Its own process group: Ctrl-C in the terminal reaches only this process, which then stops the others in order.
      detached: true,
    });
    const pid = process_.pid;
    if (pid !== undefined) reapProcess(pid);
    const exited = exitOf(process_, pid);
    // Only then nothing more comes: its last lines may arrive after its exit.
    process_.once('close', () => log.end());
    const ready = await waitUntilReady(process_, options, exited, log);
    if (pid === undefined) throw new Error(`${options.name} did not start.`);
    return new Child(options.name, process_, pid, ready, exited);
  }

  /** Ends it with SIGTERM, and with SIGKILL if it takes too long. */
  async stop(): Promise<Exit> {
    if (this.exit !== undefined) return this.exit;
    const timer = setTimeout(() => this.process.kill('SIGKILL'), stopGrace_ms);
    this.process.kill('SIGTERM');
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  /** Kills it without warning, as `kill -9` does. */
  async kill(): Promise<Exit> {
    this.process.kill('SIGKILL');
    return this.exited;
  }

  /** Stops it like a hanging host: its connections stay open. */
  freeze(): void {
    this.process.kill('SIGSTOP');
  }

  /** Continues it after a stop. */
  thaw(): void {
    this.process.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function exitOf(child: ChildProcess, pid: number | undefined): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (pid !== undefined) forgetProcess(pid);
      resolve({ code, signal });
    });
  });
}

async function waitUntilReady(
  child: ChildProcess,
  options: ChildOptions,
  exited: Promise<Exit>,
  log: WriteStream,
): Promise<RegExpExecArray> {
  const tail: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const ready = new Promise<RegExpExecArray>((resolve, reject) => {
    const fail = (what: string) =>
      reject(new Error([`${options.name} ${what}. The end of its output (${options.logFile}):`, ...tail].join('\n')));
    const onLine = (line: string) => {
      log.write(`${line}\n`);
      tail.push(line);
      if (tail.length > tailLines) tail.shift();
      const match = options.ready.exec(line);
      if (match) resolve(match);
    };
    for (const stream of [child.stdout, child.stderr])
      if (stream) createInterface({ input: stream }).on('line', onLine);
    timer = setTimeout(() => fail(`was not ready within ${options.readyWithin_ms / 1000} s`), options.readyWithin_ms);
    exited.then(
      ({ code, signal }) => fail(`ended before it was ready (${signal ?? `exit code ${code ?? '?'}`})`),
      (error: unknown) => fail(`could not be started: ${error instanceof Error ? error.message : String(error)}`),
    );
  });
  try {
    return await ready;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
