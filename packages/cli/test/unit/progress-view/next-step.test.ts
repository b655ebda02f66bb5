import { expect, test } from 'vitest';
import { idleProgress, migrationStates, type Progress } from '@convoy/api/contract/progress';
import { nextStep } from '@convoy/cli/progress-view/next-step';

const of = (changes: Partial<Progress>): string => nextStep({ ...idleProgress(), ...changes });

test('every state has a next step', () => {
  for (const state of migrationStates) expect(of({ state })).toMatch(/^Next: \S/);
});

test('suggests to start missing instances, then to commit', () => {
  expect(of({ state: 'RUNNING' })).toContain('canCommit');
  expect(of({ state: 'RUNNING', canCommit: true })).toContain('convoy commit');
  expect(of({ state: 'RUNNING', warnings: [{ name: 'waitingForInstances', description: '' }] })).toContain(
    'start the instances',
  );
  expect(of({ state: 'RUNNING', warnings: [{ name: 'instancesSilent', description: '' }] })).toContain(
    'check the instances',
  );
});

test('does not suggest a destination that rejects writes', () => {
  expect(of({ state: 'COMMITTED', canWrite: false })).not.toContain('point the writers');
  expect(of({ state: 'COMMITTED', canWrite: true })).toContain('point the writers');
});
