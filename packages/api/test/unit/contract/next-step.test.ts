import { expect, test } from 'vitest';
import { idleProgress, migrationStates, type Progress } from '@convoy/api/contract/progress';
import { nextStep } from '@convoy/api/contract/next-step';

const of = (changes: Partial<Progress>): string => nextStep({ ...idleProgress(), ...changes });

test('every state has a next step', () => {
  for (const state of migrationStates) expect(of({ state })).toMatch(/^[A-Z].*\.$/);
});

test('suggests to start missing instances, then to commit', () => {
  expect(of({ state: 'RUNNING' })).toContain('canCommit');
  expect(of({ state: 'RUNNING', canCommit: true })).toContain('convoy commit');
  expect(of({ state: 'RUNNING', warnings: [{ name: 'waitingForInstances', description: '' }] })).toContain(
    'Start the instances',
  );
  expect(of({ state: 'RUNNING', warnings: [{ name: 'instancesSilent', description: '' }] })).toContain(
    'Check the instances',
  );
});

test('asks to repeat a commit that some instances have not taken', () => {
  const step = { name: 'awaitInstances', number: 1, count: 9, description: '', since: null } as const;
  expect(of({ state: 'RUNNING', canCommit: false, currentStep: step })).toContain('repeat the command');
});

test('does not suggest a commit while operations fail', () => {
  const warnings = [{ name: 'retrying', description: '' }];
  expect(of({ state: 'RUNNING', canCommit: true, warnings })).toMatch(/^Wait until nothing is repeated:/);
});

test('asks for Redis first while it is away', () => {
  const warnings = [{ name: 'redisUnavailable', description: '' }];
  expect(of({ state: 'IDLE', warnings })).toBe('Bring Redis back. Then run convoy check, then convoy start.');
  expect(of({ state: 'RUNNING', canCommit: true, warnings })).toMatch(/^Bring Redis back:/);
});

test('does not suggest a destination that rejects writes', () => {
  expect(of({ state: 'COMMITTED', canWrite: false })).not.toContain('Point the writers');
  expect(of({ state: 'COMMITTED', canWrite: true })).toContain('Point the writers');
  expect(of({ state: 'COMMITTED', canWrite: true, metadataRemoved: true })).toContain('restart them before another');
});
