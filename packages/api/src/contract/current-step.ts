import { z } from 'zod';

/** The steps of a commit, in order; one that is not verified leaves out those of the verifier. */
export const commitStepNames = [
  'awaitInstances',
  'stopWriters',
  'applyLastChanges',
  'verify',
  'restoreIndexes',
  'verifyAgain',
  'checkSource',
  'openDestination',
  'startBalancers',
] as const;

/** The steps of a reverse, in order. */
export const reverseStepNames = ['awaitInstances', 'swapClusters', 'prepareDestination'] as const;

const ordinal = z.int().positive();

/** The step of a commit or reverse that a migration is in. */
export const currentStepSchema = z.object({
  name: z.enum([...commitStepNames, ...reverseStepNames]),
  number: ordinal.describe('From 1.'),
  count: ordinal.describe('All steps of this commit or reverse.'),
  description: z.string().describe('Who does what, with counts, as one or two sentences.'),
  since: z
    .string()
    .nullable()
    .describe('When it began, ISO 8601: anew under another leader. Null when it is not recorded.'),
});

/** One of `commitStepNames` or `reverseStepNames`. */
export type StepName = z.output<typeof currentStepSchema>['name'];
/** The `currentStep` of progress. */
export type CurrentStep = z.output<typeof currentStepSchema>;
