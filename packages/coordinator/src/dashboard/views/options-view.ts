import type { Progress } from '@convoy/api/contract/progress';

/** One option of the migration. */
export interface OptionView {
  readonly name: string;
  readonly value: string;
}

/** The recorded options, for the dashboard and the command line. */
export function optionViews(options: Progress['options']): OptionView[] {
  return Object.entries(options ?? {}).map(([name, value]) => ({ name, value: valueText(value) }));
}

function valueText(value: unknown): string {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
