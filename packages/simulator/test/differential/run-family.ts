import type { DifferentialOptions } from './arguments.js';
import { type Family, numbered, type Numbered, type Reset } from './case.js';
import { type Found, type Pair, playCase, prepare } from './play-case.js';
import { Random } from './random.js';
import { shrink } from './shrink.js';

/** How the commands of a family came out. */
export interface FamilyScore {
  readonly family: string;
  commands: number;
  equal: number;
  /** Equal, and refused by both. */
  failed: number;
  differ: number;
  /** Refused by the simulator by name. */
  refused: number;
}

/** A difference made small. */
export interface Shrunk {
  readonly family: Family;
  /** The seed of the case that it was found by. */
  readonly seed: number;
  readonly commands: readonly Numbered[];
  readonly found: Found;
}

/** How much of a family is played. */
export interface FamilyOptions extends Pick<DifferentialOptions, 'seed' | 'steps' | 'tries'> {
  readonly ending?: AbortSignal;
}

/** Differences that are alike are shrunk this often; the others count only. */
const alikeMax = 1;
/** Seeds of a run's cases lie so far apart. */
const seedStride = 1_000_003;

/**
 * Plays random cases of a family until enough commands were compared, or its signal aborts.
 * @param options `ending` ends it after the case that is being played
 * @param onDifference receives every difference that is unlike those before
 */
export async function runFamily(
  pair: Pair,
  family: Family,
  options: FamilyOptions,
  onDifference: (shrunk: Shrunk) => void,
): Promise<FamilyScore> {
  const score: FamilyScore = { family: family.name, commands: 0, equal: 0, failed: 0, differ: 0, refused: 0 };
  const alike = new Map<string, number>();
  await prepare(pair, family.fixture);
  let before: readonly Numbered[] = [];
  for (let number = 0; score.commands < options.steps && options.ending?.aborted !== true; number += 1) {
    const seed = options.seed + number * seedStride;
    const commands = numbered(family.commands(new Random(seed)));
    await prepare(pair, number === 0 ? family.reset : family.reset.filter((each) => isNeeded(each, before)));
    before = commands;
    const { equal, failed, refused, found } = await playCase(pair, commands);
    score.equal += equal;
    score.failed += failed;
    score.refused += refused;
    score.commands += equal + refused;
    if (found === undefined) continue;
    score.differ += 1;
    score.commands += 1;
    const kind = kindOf(found);
    const seen = alike.get(kind) ?? 0;
    alike.set(kind, seen + 1);
    if (seen < alikeMax)
      onDifference(
        await shrunk(pair, { family, seed, commands: commands.slice(0, found.at.step), found }, options.tries),
      );
  }
  return score;
}

/** A collection that no command of the case before has named is empty still. */
function isNeeded({ command, onlyAfter }: Reset, before: readonly Numbered[]): boolean {
  if (onlyAfter?.some((name) => before.some((each) => Object.keys(each.command ?? {})[0] === name)) === false)
    return false;
  const emptied =
    command !== null && typeof command === 'object' && !Array.isArray(command) ? command['delete'] : undefined;
  return emptied === undefined || before.some((each) => Object.values(each.command ?? {})[0] === emptied);
}

async function shrunk(pair: Pair, whole: Shrunk, triesMax: number): Promise<Shrunk> {
  const kind = kindOf(whole.found);
  let last = whole.found;
  const commands = await shrink(whole.commands, triesMax, async (candidate) => {
    await prepare(pair, whole.family.reset);
    const outcome = await playCase(pair, candidate);
    if (outcome.found === undefined || kindOf(outcome.found) !== kind) return false;
    last = outcome.found;
    return true;
  });
  return { ...whole, commands, found: last };
}

/**
 * What makes differences alike: the same command, refused by the same side with the same code, or different in the same
 * place.
 */
function kindOf({ at, real, tried, differences }: Found): string {
  const [first] = differences;
  const command = at.command !== null && typeof at.command === 'object' ? Object.keys(at.command)[0] : '';
  const codes = [real, tried].map((reply) => JSON.stringify(reply.get('code') ?? null));
  const where = codes[0] === codes[1] ? first?.path.replace(/\d+/g, '') : '';
  return [command, ...codes, where].join(' ');
}
