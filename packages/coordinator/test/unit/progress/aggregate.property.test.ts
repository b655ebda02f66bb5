import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fleetProgressSchema } from '@convoy/api/contract/fleet-progress';
import { progressInfo, migrationStates } from '@convoy/api/contract/progress';
import { aggregateProgress } from '../../../src/progress/aggregate.js';
import { snapshot, type ReportChanges } from './snapshots.js';

const bytes = fc.nat({ max: 1_000_000_000 });
const maybe = fc.option(fc.nat({ max: 1_000_000 }));

const instance: fc.Arbitrary<ReportChanges> = fc.record({
  state: fc.constantFrom(...migrationStates),
  fresh: fc.boolean(),
  silent_ms: fc.nat({ max: 1_000_000 }),
  ready: fc.record({ canCommit: fc.boolean(), canWrite: fc.boolean() }),
  rates: fc.record({ copyBytesPerSecond: bytes, eventsPerSecond: bytes }),
  expectedIds: fc.constantFrom<string[][]>([], ['i0'], ['i0', 'i1', 'i9']),
  progress: fc.record({
    info: fc.constantFrom(null, ...Object.values(progressInfo)),
    lagTimeSeconds: maybe,
    totalEventsApplied: maybe,
    collectionCopy: fc.option(fc.record({ estimatedTotalBytes: bytes, estimatedCopiedBytes: bytes }), { nil: null }),
  }),
});

const fleet = fc.array(instance, { minLength: 1, maxLength: 6 }).map((all) => Object.fromEntries(all.map((one, at) => [`i${at}`, one])));

describe('aggregateProgress, whatever the instances report', () => {
  it('keeps to the contract', () => {
    fc.assert(
      fc.property(fleet, (instances) => {
        const { progress, instances: rows } = aggregateProgress(snapshot(instances), null);
        expect(fleetProgressSchema.parse(progress)).toEqual(progress);
        expect(rows).toHaveLength(Object.keys(instances).length);
        if (progress.collectionCopy !== null) {
          expect(progress.collectionCopy.estimatedCopiedBytes).toBeLessThanOrEqual(progress.collectionCopy.estimatedTotalBytes);
        }
      }),
    );
  });

  it('says yes only when every living instance does', () => {
    fc.assert(
      fc.property(fleet, (instances) => {
        const { progress } = aggregateProgress(snapshot(instances), null);
        const living = Object.values(instances).filter(({ fresh }) => fresh === true);
        if (progress.canCommit) expect(living.every(({ ready }) => ready?.canCommit)).toBe(true);
        if (progress.canWrite === true) expect(living.every(({ ready }) => ready?.canWrite)).toBe(true);
      }),
    );
  });
});
