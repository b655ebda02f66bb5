import type { CleanupPlan } from '@convoy/instance/lifecycle/commands/clean-up';

/** A cleanup's plan as text. */
export function cleanupLines({ found, steps, remarks }: CleanupPlan): string[] {
  if (found === null) return ['There is nothing to clean up.', ...remarks];
  return [
    found,
    '',
    'A cleanup will:',
    ...steps.map(({ description }, index) => `  ${index + 1}. ${description}`),
    ...(remarks.length > 0 ? ['', ...remarks] : []),
    '',
  ];
}
