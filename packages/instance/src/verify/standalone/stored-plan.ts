import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ComparisonPlan } from './comparison-plan.js';
import { textOfValue, valueOfText } from './stored-suspect.js';

const bound = z.string().nullable();
const storedPlan = z.object({
  /** Clusters and options of the plan. */
  identity: z.string(),
  started_ms: z.number(),
  collections: z.array(
    z.object({
      number: z.number(),
      database: z.string(),
      name: z.string(),
      /** Absent in state of former releases. */
      destination: z.object({ database: z.string(), name: z.string() }).optional(),
      sourceUuid: z.string(),
      destinationUuid: z.string(),
      unordered: z.boolean(),
      sizeBytes: z.number(),
      documentCount: z.number(),
    }),
  ),
  partitions: z.array(z.object({ number: z.number(), collection: z.number(), lower: bound, upper: bound })),
});

/** A plan with its purpose and its time. */
export interface RecordedPlan {
  identity: string;
  started_ms: number;
  plan: ComparisonPlan;
}

/** Writes a plan atomically: after a crash the whole of it exists, or none. */
export async function writePlan(path: string, { identity, started_ms, plan }: RecordedPlan): Promise<void> {
  const partitions = plan.partitions.map(({ lower, upper, ...rest }) => ({
    ...rest,
    lower: lower && textOfValue(lower),
    upper: upper && textOfValue(upper),
  }));
  const text = JSON.stringify({ identity, started_ms, collections: plan.collections, partitions });
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** @returns null if there is none yet */
export async function readPlan(path: string): Promise<RecordedPlan | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { identity, started_ms, collections, partitions } = storedPlan.parse(JSON.parse(text));
  const restored = partitions.map(({ lower, upper, ...rest }) => ({
    ...rest,
    lower: lower === null ? null : valueOfText(lower),
    upper: upper === null ? null : valueOfText(upper),
  }));
  const named = collections.map((one) => ({
    ...one,
    destination: one.destination ?? { database: one.database, name: one.name },
  }));
  return { identity, started_ms, plan: { collections: named, partitions: restored } };
}
