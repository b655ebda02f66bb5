import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const hook = new URL('./step-hook.js', import.meta.url).href;
const line = z.object({ step: z.string(), at_ms: z.number() });

/** The steps of the instances that are started while it is there, as they tell them. */
export class StepLog implements Disposable {
  private readonly optionsBefore = process.env['NODE_OPTIONS'];

  constructor(private readonly file: string) {
    writeFileSync(file, '');
    process.env['NODE_OPTIONS'] = [this.optionsBefore, `--import=${hook}`].filter(Boolean).join(' ');
    process.env['CONVOY_STEP_LOG'] = file;
  }

  /** When each step was done for the last time, in milliseconds of the epoch. */
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
