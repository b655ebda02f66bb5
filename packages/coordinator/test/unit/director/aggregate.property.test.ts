import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { aggregationRules } from './aggregation-rules.js';
import { anyFleet } from './any-fleet.js';
import { type ReportChanges, snapshot } from './snapshots.js';

const numRuns = 400;

describe.each(aggregationRules)('$name', ({ holds, without }) => {
  it('holds for any fleet', () => {
    fc.assert(
      fc.property(anyFleet, (fleet) => {
        holds(fleet, aggregateProgress(fleet, null));
      }),
      { numRuns },
    );
  });

  it('fails on progress without the rule', () => {
    const property = fc.property(anyFleet, (fleet) => {
      holds(fleet, without(fleet, aggregateProgress(fleet, null)));
    });
    expect(fc.check(property, { numRuns, endOnFailure: true }).failed).toBe(true);
  });
});

it('no fleet offers a commit without a live instance that runs, or writes without one that allows them', () => {
  const fleets = fc.oneof(anyFleet, fc.constant(snapshot({})));
  fc.assert(
    fc.property(fleets, (fleet) => {
      const { canCommit, canWrite } = aggregateProgress(fleet, null).progress;
      const all = [...fleet.reports.values()];
      const runs = all.some(({ fresh, report }) => fresh && ['RUNNING', 'COMMITTING'].includes(report.state));
      if (!runs) expect(canCommit).toBe(false);
      if (!all.some(({ report }) => report.ready.canWrite)) expect(canWrite ?? false).toBe(false);
    }),
    { numRuns },
  );
});

it('copied parts of one total add up to exactly 100 %, for any division', () => {
  const parts = fc
    .array(fc.nat({ max: 2 ** 40 }), { minLength: 1, maxLength: 64 })
    .filter((all) => all.some((part) => part > 0));
  fc.assert(
    fc.property(parts, (all) => {
      const estimatedTotalBytes = all.reduce((sum, part) => sum + part, 0);
      const instances = all.map((estimatedCopiedBytes, at): [string, ReportChanges] => [
        `i${at}`,
        { progress: { collectionCopy: { estimatedTotalBytes, estimatedCopiedBytes } } },
      ]);
      const { percent, collectionCopy } = aggregateProgress(snapshot(Object.fromEntries(instances)), null).progress;
      expect(percent).toBe(100);
      expect(collectionCopy).toEqual({ estimatedTotalBytes, estimatedCopiedBytes: estimatedTotalBytes });
    }),
  );
});

it('before the copy a fleet reports 0 of 1', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), (count) => {
      const before: ReportChanges = {
        progress: { collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 } },
      };
      const fleet = snapshot(Object.fromEntries(Array.from({ length: count }, (_, at) => [`i${at}`, before])));
      expect(aggregateProgress(fleet, null).progress).toMatchObject({
        percent: 0,
        collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
      });
    }),
  );
});
