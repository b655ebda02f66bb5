import { z } from 'zod';
import { canonicalJson } from './canonical-json.js';

/** What `carry` may name: what a commit takes along besides data, indexes, options and shard keys. */
export const carriedKinds = [
  'zones',
  'balancing',
  'usersAndRoles',
  'defaultConcerns',
  'clusterParameters',
  'querySettings',
] as const;

export type CarriedKind = (typeof carriedKinds)[number];

const shardNameSchema = z.string().min(1, 'must not be empty');

const elementSchema = z.union([
  z.enum(carriedKinds),
  z
    .strictObject({
      zones: z
        .record(shardNameSchema, shardNameSchema)
        .describe(
          'The shard of the destination, by each shard of the source that is in a zone; several may share one.',
        ),
    })
    .describe('Zones whose shards have other names on the destination.'),
]);

/** The `carry` list of a start request. */
export const carrySchema = z.array(elementSchema).superRefine((elements, context) => {
  const seen = new Set<string>();
  elements.forEach((element, position) => {
    const kind = kindOf(element);
    if (seen.has(kind)) context.addIssue({ code: 'custom', path: [position], message: `names ${kind} a second time` });
    seen.add(kind);
  });
});

/** The `carry` list of a start request. */
export type Carry = z.output<typeof carrySchema>;

function kindOf(element: Carry[number]): CarriedKind {
  return typeof element === 'string' ? element : 'zones';
}

/** The kinds that a list names. */
export function carriedKindsOf(carry: Carry | undefined): ReadonlySet<CarriedKind> {
  return new Set((carry ?? []).map(kindOf));
}

/** The destination's shards by those of the source, as a list gives them; null when shards keep their names. */
export function zoneShardsOf(carry: Carry | undefined): ReadonlyMap<string, string> | null {
  for (const element of carry ?? []) if (typeof element !== 'string') return new Map(Object.entries(element.zones));
  return null;
}

/** Whether several shards of the source become one of the destination: nothing says how to take that back. */
export function mergesShards(carry: Carry | undefined): boolean {
  const shards = [...(zoneShardsOf(carry)?.values() ?? [])];
  return new Set(shards).size < shards.length;
}

/** Sorts a list, whose order has no meaning; undefined for one that names nothing. */
export function normaliseCarry(carry: Carry | undefined): Carry | undefined {
  if (carry === undefined || carry.length === 0) return undefined;
  return [...carry].sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
}
