import { type DifferentialOptions, readArguments } from './arguments.js';
import type { Family } from './case.js';
import { openReal, openSimulated } from './clusters.js';
import { families } from './families.js';
import { exactJson } from './exact-json.js';
import type { Pair } from './play-case.js';
import { record } from './record.js';
import { type FamilyOptions, type FamilyScore, runFamily, type Shrunk } from './run-family.js';
import { table } from './table.js';

/** Exit codes: equal; something differs; not understood; nothing to compare with. */
const exit = { equal: 0, differs: 1, usage: 2, nothing: 3 } as const;

/**
 * `npm run differential`: asks real servers and the simulator the same random commands, prints what they answered
 * differently, made small, and how each family came out.
 * @returns exit code: 0 when all is equal, 1 when something differs, 2 for arguments that are not understood, 3 without
 * MONGO_BIN
 */
export async function runDifferential(args: readonly string[]): Promise<number> {
  try {
    const options = readArguments(args);
    const chosen = choose(options.families);
    if (!process.env['MONGO_BIN']) {
      print('There is nothing to compare with. Set MONGO_BIN to a folder with mongod and mongos.');
      return exit.nothing;
    }
    return await compare(options, chosen);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    print(error.message);
    return exit.usage;
  }
}

function choose(names: readonly string[]): readonly Family[] {
  const unknown = names.find((name) => !families.some((family) => family.name === name));
  if (unknown !== undefined)
    throw new RangeError(`There is no family ${unknown}. There are ${families.map(({ name }) => name).join(', ')}.`);
  return families.filter(({ name }) => names.length === 0 || names.includes(name));
}

async function compare(options: DifferentialOptions, chosen: readonly Family[]): Promise<number> {
  const scores: FamilyScore[] = [];
  const ending = new AbortController();
  // An interrupted run prints its results so far.
  process.once('SIGINT', () => {
    ending.abort();
  });
  for (const access of [false, true]) {
    const asked = chosen.filter((family) => (family.access ?? false) === access);
    if (asked.length > 0) scores.push(...(await compareOn(access, { ...options, ending: ending.signal }, asked)));
  }
  print(`seed ${options.seed}`);
  print(table(scores));
  return scores.some(({ differ }) => differ > 0) ? exit.differs : exit.equal;
}

/** @param access whether the clusters have users */
async function compareOn(
  access: boolean,
  options: DifferentialOptions & FamilyOptions,
  chosen: readonly Family[],
): Promise<FamilyScore[]> {
  const real = await openReal({ access });
  const pair = { real, tried: await openSimulated(real.release, { access }) };
  const scores: FamilyScore[] = [];
  try {
    for (const family of chosen) {
      const found: Shrunk[] = [];
      scores.push(
        await runFamily(pair, family, options, (shrunk) => {
          found.push(shrunk);
          print(describe(shrunk));
        }),
      );
      print(table(scores.slice(-1)));
      if (options.record !== undefined) await recordAll(pair, found, options.record);
    }
  } finally {
    await Promise.all([pair.real.close(), pair.tried.close()]);
  }
  return scores;
}

async function recordAll({ real }: Pair, found: readonly Shrunk[], file: string): Promise<void> {
  for (const shrunk of found) await record(real, shrunk, file);
}

/** A difference as it is printed: the commands, and what both answered to the last. */
export function describe({ family, seed, commands, found }: Shrunk): string {
  const steps = commands.map(
    ({ step, on, who = '', db, command }) => `  ${step} ${on} ${who} ${db} ${JSON.stringify(command)}`,
  );
  const differences = found.differences.map(
    ({ path, recorded, answered }) =>
      `    ${path}: real ${JSON.stringify(recorded)}, simulated ${JSON.stringify(answered)}`,
  );
  const replies = [
    `    real      ${JSON.stringify(exactJson(found.real))}`,
    `    simulated ${JSON.stringify(exactJson(found.tried))}`,
  ];
  return [`${family.name}, seed ${seed}:`, ...steps, ...differences, ...(differences.length > 3 ? replies : [])].join(
    '\n',
  );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
