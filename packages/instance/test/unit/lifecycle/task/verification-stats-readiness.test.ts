import { describe, expect, it } from 'vitest';
import { leftDocumentsMax, VerificationReadiness } from '../../../../src/lifecycle/task/verification-stats.js';
import { offeredLagMax_seconds } from '../../../../src/lifecycle/task/task-stats.js';

const ready = {
  hasCompared: true,
  leftDocuments: 0,
  readLag_seconds: 2,
  lasting: { documents: 0, namespaces: [], givenUp: 0 },
};

describe('a final comparison would be short', () => {
  it.each([
    ['once everything is compared and the streams are read', ready, null],
    ['not before everything is compared', { ...ready, hasCompared: false, leftDocuments: 7 }, ['verifying', 7, 0]],
    ['while a small collection is new', { ...ready, leftDocuments: leftDocumentsMax }, null],
    [
      'not while a large one is',
      { ...ready, leftDocuments: leftDocumentsMax + 1 },
      ['verifying', leftDocumentsMax + 1, leftDocumentsMax],
    ],
    [
      'not while a document differs with no change on its way',
      { ...ready, lasting: { documents: 1, namespaces: ['shop.a'], givenUp: 0 } },
      ['mismatches', 1, 0],
    ],
    ['not while reading is more than 30 s behind', { ...ready, readLag_seconds: 31 }, ['verifierLag', 31, 30]],
  ])('%s', (_what, progress, expected) => {
    const blocker = new VerificationReadiness().judge(progress);
    expect(blocker === null ? null : [blocker.reason, blocker.value, blocker.limit]).toEqual(expected);
  });

  it.each([
    [{ hasCompared: false, leftDocuments: 424_231 }, 'everything: 424,231 documents are left'],
    [{ hasCompared: false, leftDocuments: 0 }, 'the verifier finishes its first comparison'],
    [{ leftDocuments: 1_424_231 }, 'has 1,424,231 documents of new collections left (limit 100,000)'],
    [{ lasting: { documents: 4_231, namespaces: ['shop.a'], givenUp: 1_200 } }, '4,231 documents differ'],
  ])('text has large numbers in groups: %j', (progress, text) => {
    expect(new VerificationReadiness().judge({ ...ready, ...progress })?.description).toContain(text);
  });

  it('stays so while the lag swings around the limit of the offer, and ends well above it', () => {
    const readiness = new VerificationReadiness();
    const lags = [30, 31, 30, offeredLagMax_seconds, offeredLagMax_seconds + 1, 31, 30];
    expect(lags.map((readLag_seconds) => readiness.judge({ ...ready, readLag_seconds }) === null)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      true,
    ]);
  });
});
