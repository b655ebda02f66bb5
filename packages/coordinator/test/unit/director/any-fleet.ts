import fc from 'fast-check';
import {
  migrationStates,
  type Progress,
  progressInfo,
  type VerificationSideProgress,
} from '@convoy/api/contract/progress';
import { verificationPhases } from '@convoy/api/contract/verification';
import type { Waiting } from '@convoy/api/contract/waiting';
import type { FleetSnapshot } from '../../../src/director/members.js';
import { type ReportChanges, snapshot } from './snapshots.js';

const stat = fc.nat({ max: 1_000_000 });
const maybe = fc.option(stat, { nil: null });

const side: fc.Arbitrary<VerificationSideProgress> = fc.record({
  estimatedDocumentCount: maybe,
  hashedDocumentCount: maybe,
  lagTimeSeconds: maybe,
  phase: fc.option(fc.constantFrom(...verificationPhases), { nil: null }),
  scannedCollectionCount: maybe,
  totalCollectionCount: maybe,
});

const failure = fc.constantFrom(
  { error: 'oplogHistoryLost', errorDescription: 'Lost.' } as const,
  { error: 'documentTooLarge', errorDescription: 'Large.' } as const,
);

function mostly(value: boolean): fc.Arbitrary<boolean> {
  return fc.oneof({ arbitrary: fc.constant(value), weight: 4 }, { arbitrary: fc.boolean(), weight: 1 });
}

/** Totals are often equal, as in real fleets, and often 1, which means unknown. */
const copy = fc.record({
  estimatedTotalBytes: fc.oneof(fc.constantFrom(1, 1_000, 2_000), stat),
  estimatedCopiedBytes: fc.oneof(fc.constant(0), fc.nat({ max: 700 }), stat),
});

/** Mostly no instance is awaited; an awaited one may be missing, be silent, or have taken the command. */
const waiting: fc.Arbitrary<Waiting> = fc.record({
  instance: fc.constantFrom('i0', 'i1', 'i9'),
  command: fc.constantFrom('start', 'pause'),
  description: fc.constant('it is away'),
});

const progress: fc.Arbitrary<Partial<Progress>> = fc.record({
  canCommit: mostly(true),
  info: fc.constantFrom(null, ...Object.values(progressInfo)),
  lagTimeSeconds: maybe,
  totalEventsApplied: maybe,
  collectionCopy: fc.option(copy, { nil: null }),
  directionMapping: fc.option(fc.record({ Source: fc.string(), Destination: fc.string() }), { nil: null }),
  verification: fc.option(fc.record({ source: side, destination: side }), { nil: null }),
  waitingFor: fc.option(fc.array(waiting, { maxLength: 2 }), { nil: null, freq: 2 }),
});

function instance(states: fc.Arbitrary<(typeof migrationStates)[number]>): fc.Arbitrary<ReportChanges> {
  return fc.record({
    state: states,
    failure: fc.option(failure, { nil: null, freq: 10 }),
    fresh: fc.boolean(),
    silent_ms: fc.nat({ max: 1_200_000 }),
    ready: fc.record({ canCommit: mostly(true), canWrite: mostly(true) }),
    rates: fc.record({ copyBytesPerSecond: stat, eventsPerSecond: stat }),
    expectedIds: fc.constantFrom<string[][]>([], ['i0', 'i1'], ['i0', 'i1', 'i9']),
    progress,
    optionsDigest: fc.constantFrom(null, 'digest'),
  });
}

/** Half of the fleets are in one state, as fleets usually are. */
const instances = fc.oneof(
  fc
    .constantFrom(...migrationStates)
    .chain((state) => fc.array(instance(fc.constant(state)), { minLength: 1, maxLength: 5 })),
  fc.array(instance(fc.constantFrom(...migrationStates)), { minLength: 1, maxLength: 5 }),
);

/** Any fleet, led by any of its instances or by none. */
export const anyFleet: fc.Arbitrary<FleetSnapshot> = fc.tuple(instances, fc.nat({ max: 5 })).map(([all, leader]) => {
  const seen = snapshot(Object.fromEntries(all.map((one, at) => [`i${at}`, one])));
  return { ...seen, leader: leader < all.length ? { id: `i${leader}`, syncID: `sync-i${leader}` } : null };
});
