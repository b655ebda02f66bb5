import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../source-tree.js';
import { documentPath, hazardsDocument } from './document.js';
import type { Hazard, NamedTest, Sabotage } from './hazard.js';
import { hazards } from './hazards/all.js';
import { Sandbox } from './sandbox.js';
import { stalenessOf } from './staleness.js';
import { runTests } from './verdict.js';

/** More parallel runs need more memory and save no time. */
const workersMax = 2;
/** The exit code that shells give an interrupted program; copies are removed first. */
const interruptedExit = 130;

interface Task {
  hazard: Hazard;
  sabotage: Sabotage;
}

/** The result of a sabotage; all but `noticed` are findings. */
type Verdict = 'noticed' | 'NOT NOTICED' | 'stale' | 'failing before' | 'not judged';

/**
 * Takes the handling of every hazard out of a copy of the sources, one after the other, and runs the tests that have to
 * notice. Prints a line for each.
 * @param args `--only 3,12` takes some hazards, `--part 2/6` every sixth sabotage from the second on, `--document`
 * writes docs/internals/hazards.md instead
 * @returns exit code: 0 when every sabotage was noticed
 */
export async function runSabotage(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { only: { type: 'string' }, part: { type: 'string' }, document: { type: 'boolean' } },
  });
  if (values.document === true) {
    writeFileSync(join(root, documentPath), hazardsDocument(hazards));
    return 0;
  }
  const interrupted = (): never => process.exit(interruptedExit);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  const tasks = chosen(values.only, values.part);
  const queue = [...tasks];
  const findings: string[] = [];
  const work = async (): Promise<void> => {
    const sandbox = new Sandbox();
    try {
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
        const { verdict, detail } = await judged(task, sandbox);
        const because = detail === '' ? '' : ` (${detail})`;
        const line = `${verdict}: ${task.hazard.number} ${task.sabotage.takesOut}${because}`;
        console.log(line);
        if (verdict !== 'noticed') findings.push(line);
      }
    } finally {
      sandbox.remove();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workersMax, availableParallelism()) }, work));
  for (const finding of findings) console.log(finding);
  console.log(`${tasks.length - findings.length} of ${tasks.length} sabotages were noticed`);
  return findings.length === 0 && tasks.length > 0 ? 0 : 1;
}

function chosen(only: string | undefined, part: string | undefined): Task[] {
  const numbers = only === undefined ? null : new Set(only.split(',').map(Number));
  const some = hazards.filter(({ number }) => numbers === null || numbers.has(number));
  const tasks = some.flatMap((hazard) => hazard.sabotages.map((sabotage) => ({ hazard, sabotage })));
  const [position, parts] = part === undefined ? [1, 1] : part.split('/').map(Number);
  if (position === undefined || parts === undefined || !(position >= 1 && position <= parts))
    throw new Error('A part is written as 2/6: the second of six.');
  return tasks.filter((_, index) => index % parts === position - 1);
}

async function judged({ sabotage }: Task, sandbox: Sandbox): Promise<{ verdict: Verdict; detail: string }> {
  const stale = stalenessOf(sabotage);
  if (stale.length > 0) return { verdict: 'stale', detail: stale.join('; ') };
  const { results, hung } = await sandbox.sabotaged(sabotage, () => runTests(sandbox.folder, sabotage.tests));
  const titlesOf = (result: string): string =>
    [...results]
      .filter(([, one]) => one === result)
      .map(([{ title }]) => title)
      .join('; ');
  if (titlesOf('passed') !== '') return { verdict: 'NOT NOTICED', detail: titlesOf('passed') };
  if (!hung && titlesOf('notRun') !== '') return { verdict: 'not judged', detail: `not run: ${titlesOf('notRun')}` };
  const failing = await failingBefore(sabotage.tests, sandbox);
  return failing.length === 0
    ? { verdict: 'noticed', detail: hung ? 'the run hung' : '' }
    : { verdict: 'failing before', detail: failing.join('; ') };
}

/** Tests that have passed without any sabotage, as `file title`. */
const passing = new Set<string>();

/** A test that also fails without the sabotage notices nothing. */
async function failingBefore(tests: readonly NamedTest[], sandbox: Sandbox): Promise<string[]> {
  const nameOf = ({ file, title }: NamedTest): string => `${file} ${title}`;
  const unknown = tests.filter((test) => !passing.has(nameOf(test)));
  if (unknown.length === 0) return [];
  const { results } = await runTests(sandbox.folder, unknown);
  for (const [test, result] of results) if (result === 'passed') passing.add(nameOf(test));
  return unknown.filter((test) => !passing.has(nameOf(test))).map(({ title }) => title);
}
