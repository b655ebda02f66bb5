import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The compiled program; `npm test` compiles it first. */
export const program = fileURLToPath(new URL('../../../dist/process.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** A simulator process under test. */
export class SimulatorProcess implements AsyncDisposable {
  #output = '';
  #errors = '';
  readonly ended: Promise<Ended>;

  private constructor(readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    this.ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      output: this.#output,
      errors: this.#errors,
    }));
  }

  static start(args: readonly string[], script = program): SimulatorProcess {
    return new SimulatorProcess(spawn(process.execPath, [script, ...args], { stdio: 'pipe' }));
  }

  /** Its first whole line of output. Throws with what it said instead when it ends without one. */
  async firstLine(): Promise<string> {
    while (!this.#output.includes('\n')) {
      const more = this.child.stdout === null ? this.ended : once(this.child.stdout, 'data');
      if ((await Promise.race([more.then(() => 'more'), this.ended.then(() => 'ended')])) === 'ended')
        throw new Error(`it ended: ${this.#errors}`);
    }
    return this.#output.slice(0, this.#output.indexOf('\n'));
  }

  async ready(): Promise<Record<string, unknown>> {
    return JSON.parse(await this.firstLine()) as Record<string, unknown>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
