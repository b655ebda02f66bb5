import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { ErrorName } from '@convoy/api/errors/table';

/** The checks before a start, in their order. */
export const checkNames = [
  'clusters',
  'recordedReleases',
  'options',
  'filter',
  'featureCompatibilityVersion',
  'privileges',
  'serverParameters',
  'collections',
  'sharding',
  'verification',
  'destination',
  'matched',
  'diskSpace',
  'equalIds',
  'carry',
  'inventory',
  'balancers',
  'oplogWindow',
] as const;

export type CheckName = (typeof checkNames)[number];

/** `failed` prevents a start; `unchecked`: the current access or privileges do not show it. */
export type CheckResult = 'passed' | 'warning' | 'failed' | 'unchecked';

/** What one check found, and what to do about it unless it passed. Never values of documents, users or passwords. */
export interface PreflightItem {
  check: CheckName;
  result: CheckResult;
  /** The refusal that `start` would answer; null unless failed. */
  error: ErrorName | null;
  description: string;
  /** What the description counts, where it does not name all. */
  names?: string[] | undefined;
}

/** Every condition for a start, each with its finding. */
export interface PreflightReport {
  canStart: boolean;
  items: PreflightItem[];
}

/** What is published while there are no findings to show. */
export const noFindings = { at_ms: 0, canStart: false, items: [] } satisfies PublishedDetails['preflight'];
