import { describe, expect, it } from 'vitest';
import { fleetProgressSchema, idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import { idleProgress, migrationStates, progressInfo, progressSchema } from '@convoy/api/contract/progress';
import { verificationPhases } from '@convoy/api/contract/verification';

/** The fields of chapter 2.5, and mongosync's others. */
const contractFields = [
  'state',
  'canCommit',
  'canWrite',
  'info',
  'lagTimeSeconds',
  'totalEventsApplied',
  'collectionCopy',
  'directionMapping',
  'syncID',
  'coordinatorID',
  'verification',
];
const furtherFields = [
  'ceaStage',
  'lag',
  'indexBuilding',
  'source',
  'destination',
  'estimatedOplogTimeRemaining',
  'estimatedSecondsToCEACatchup',
  'warnings',
  'commitBlockers',
  'currentStep',
  'sourceWrites',
  'hotDocuments',
  'handOver',
  'startedAt',
  'options',
  'metadataRemoved',
  'waitingFor',
];

describe('progress', () => {
  it("has all of the contract's fields and mongosync's others", () => {
    expect(Object.keys(progressSchema.shape)).toEqual([...contractFields, ...furtherFields]);
  });

  it('in IDLE has every field, all null but state and canCommit', () => {
    const { state, canCommit, ...others } = idleProgress();
    expect([state, canCommit]).toEqual(['IDLE', false]);
    expect(Object.keys(others)).toEqual([...contractFields.slice(2), ...furtherFields]);
    expect(Object.values(others).every((value) => value === null)).toBe(true);
  });

  it('names the states', () => {
    expect(migrationStates).toEqual([
      'INITIALIZING',
      'IDLE',
      'RUNNING',
      'PAUSED',
      'COMMITTING',
      'COMMITTED',
      'REVERSING',
    ]);
  });

  it('names the phases as the contract does', () => {
    expect(Object.values(progressInfo)).toEqual(
      expect.arrayContaining([
        'collection copy',
        'change event application',
        'waiting for commit to complete',
        'commit completed',
      ]),
    );
  });

  it.each(verificationPhases)('takes the verifier phase %s on both sides', (phase) => {
    const side = {
      estimatedDocumentCount: 10,
      hashedDocumentCount: 5,
      lagTimeSeconds: 1,
      phase,
      scannedCollectionCount: 1,
      totalCollectionCount: 2,
    };
    const progress = { ...idleProgress(), verification: { source: side, destination: side } };
    expect(progressSchema.parse(progress)).toEqual(progress);
  });

  it.each([
    { collectionCopy: { estimatedTotalBytes: 1.5, estimatedCopiedBytes: 0 } },
    { lagTimeSeconds: -1 },
    { state: 'FAILED' },
    { canCommit: null },
    { directionMapping: { source: 'a' } },
  ])('refuses %j', (fields) => {
    expect(progressSchema.safeParse({ ...idleProgress(), ...fields }).success).toBe(false);
  });
});

describe('fleet progress', () => {
  it("has the contract's fields and the instances", () => {
    expect(Object.keys(fleetProgressSchema.shape)).toEqual([
      ...Object.keys(progressSchema.shape),
      'instances',
      'percent',
      'copyBytesPerSecond',
      'eventsPerSecond',
      'secondsRemaining',
      'copyEndsAt',
    ]);
  });

  it('in IDLE is null but for state and canCommit', () => {
    const progress = fleetProgressSchema.parse(idleFleetProgress());
    expect(Object.entries(progress).filter(([, value]) => value !== null)).toEqual([
      ['state', 'IDLE'],
      ['canCommit', false],
    ]);
  });
});
