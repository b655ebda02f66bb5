import type { CheckResult, PreflightItem } from '@convoy/instance/preflight/report';

/** A line of the report: a check of the clusters, or of settings that only the command line sees. */
export type Finding = Omit<PreflightItem, 'check'> & { readonly check: string };

/** What `convoy check` reports. */
export interface CheckReport {
  readonly canStart: boolean;
  readonly items: readonly Finding[];
}

/** Word and sign of each result; the sign never stands alone. */
const resultWords: Readonly<Record<CheckResult, string>> = {
  passed: '✓ passed',
  warning: '! warning',
  failed: '✗ failed',
  unchecked: '? unchecked',
};

const resultWidth = Math.max(...Object.values(resultWords).map((word) => word.length));

/** The report as text: one line per check, with those that failed, or warn before a start, repeated at the end. */
export function preflightLines({ canStart, items }: CheckReport): string[] {
  const checkConcurrency = Math.max(...items.map(({ check }) => check.length));
  const namesOf = (wanted: CheckResult): string =>
    [...new Set(items.flatMap(({ check, result }) => (result === wanted ? [check] : [])))].join(', ');
  const warnings = namesOf('warning');
  const closing = canStart
    ? `A migration can start with these options${warnings === '' ? '' : `; read the warnings first: ${warnings}`}.`
    : `A migration cannot start: ${namesOf('failed')}.`;
  return [...items.map((item) => line(item, checkConcurrency)), '', closing];
}

function line({ check, result, error, description }: Finding, checkConcurrency: number): string {
  const named = error === null ? description : `${error}: ${description}`;
  return `${resultWords[result].padEnd(resultWidth)}  ${check.padEnd(checkConcurrency)}  ${named}`;
}
