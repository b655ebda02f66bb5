import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const hook = new URL('./step-hook.js', import.meta.url).href;
const line = z.object({ step: z.string(), at_ms: z.number() });

/** The leader's steps, as reported by instances that start during its life. */
export class StepLog implements Disposable {
  private readonly optionsBefore = process.env['NODE_OPTIONS'];

  constructor(private readonly file: string) {
    writeFileSync(file, '');
    process.env['NODE_OPTIONS'] = [this.optionsBefore, `--import=${hook}`].filter(Boolean).join(' ');
    process.env['CONVOY_STEP_LOG'] = file;
  }

  /** When each step was last finished, in milliseconds since 1970. */
  read(): Map<string, number> {
    const lines = readFileSync(this.file, 'utf8').split('\n').filter(Boolean);
    return new Map(lines.map((text) => line.parse(JSON.parse(text))).map(({ step, at_ms }) => [step, at_ms]));
  }

  [Symbol.dispose](): void {
    if (this.optionsBefore === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = this.optionsBefore;
    delete process.env['CONVOY_STEP_LOG'];
  }
}
