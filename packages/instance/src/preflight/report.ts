import type { ErrorName } from '@convoy/api/errors/table';

/** What is checked before a start, in the order in which it is. */
export const checkNames = [
  'clusters',
  'recordedReleases',
  'options',
  'filter',
  'featureCompatibilityVersion',
  'privileges',
  'collections',
  'sharding',
  'verification',
  'destination',
  'matched',
  'diskSpace',
  'equalIds',
  'balancers',
  'oplogWindow',
] as const;

export type CheckName = (typeof checkNames)[number];

/** `failed` keeps a migration from starting; `unchecked`: what the present access or privileges do not show. */
export type CheckResult = 'passed' | 'warning' | 'failed' | 'unchecked';

/** What one check found, and what to do about it unless it passed. Never values of documents, users or passwords. */
export interface PreflightItem {
  check: CheckName;
  result: CheckResult;
  /** The refusal that `start` would answer; null unless failed. */
  error: ErrorName | null;
  description: string;
}

/** Every condition for a start, each with its finding. */
export interface PreflightReport {
  canStart: boolean;
  items: PreflightItem[];
}
