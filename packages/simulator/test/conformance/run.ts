import { corpusFiles, type Json, recordedReleases, releaseOf } from './corpus-file.js';
import type { Difference } from './compare-outcomes.js';
import { equalMin } from './pinned-values.js';
import type { PlayedStep } from './replay.js';
import { excuseOf, type FileScore, playCorpus } from './score.js';

const commandCharacters = 160;
const valueCharacters = 200;
const shownDifferences = 4;

/**
 * `npm run conformance [-- [--show] [FILE …]]`: plays the corpus and prints how each file came out and what differs;
 * with `--show` also the recorded and the answered outcome of each step that differs. FILE is a file's name or its
 * number, after `8.0/` for those of 8.0.
 * @returns exit code: 1 when a file has fewer equal steps than it is known to have, otherwise 0
 */
export async function runConformance(args: readonly string[]): Promise<number> {
  const isShowing = args.includes('--show');
  const named = args.filter((arg) => !arg.startsWith('--'));
  const files = corpusFiles.filter((file) => named.length === 0 || named.some((name) => file.startsWith(name)));
  const scores = await playCorpus(files);
  for (const score of scores) printScore(score, isShowing);
  for (const release of recordedReleases) {
    const own = scores.filter((score) => releaseOf(score.file) === release);
    const total = (count: (score: FileScore) => number): number => own.reduce((sum, score) => sum + count(score), 0);
    if (own.length === 0) continue;
    print(`conformance ${release}: ${total((score) => score.equal)} of ${total((score) => score.steps)} steps equal`);
  }
  return scores.some((score) => score.equal < equalMin[score.file]) ? 1 : 0;
}

function printScore(score: FileScore, isShowing: boolean): void {
  const known = equalMin[score.file];
  const fallen = score.equal < known ? `; at least ${known} are known to be equal` : '';
  print(`${score.file}: ${score.equal} equal, ${score.different} different, ${score.excused} excused${fallen}`);
  if (score.played.length === 0) print('  not played');
  for (const played of score.played.filter((each) => each.differences.length > 0)) printStep(played, isShowing);
}

function printStep({ step, answered, differences }: PlayedStep, isShowing: boolean): void {
  const reason = excuseOf(step);
  print(
    `  step ${step.step} on ${step.on ?? step.who ?? ''}: ` +
      `${shortened(step.command, commandCharacters)}${reason === undefined ? '' : ` (excused: ${reason})`}`,
  );
  for (const difference of differences.slice(0, isShowing ? differences.length : shownDifferences))
    printDifference(difference);
  if (!isShowing && differences.length > shownDifferences)
    print(`    and ${differences.length - shownDifferences} more`);
  if (!isShowing) return;
  print(`    recorded ${JSON.stringify(step.reply ?? step.error)}`);
  print(`    answered ${JSON.stringify(answered)}`);
}

function printDifference({ path, recorded, answered }: Difference): void {
  print(
    `    ${path}: recorded ${shortened(recorded, valueCharacters)}, answered ${shortened(answered, valueCharacters)}`,
  );
}

function shortened(value: Json | undefined, characters: number): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > characters ? `${text.slice(0, characters)}…` : text;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
