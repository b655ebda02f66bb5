import { clusterErrors } from './cluster-errors.js';
import { migrationErrors } from './migration-errors.js';
import { optionErrors } from './option-errors.js';
import { availabilityErrors, internalErrors } from './process-errors.js';
import { accessErrors, requestErrors, stateErrors } from './request-errors.js';

/** Classes of failures in the order of `docs/reference/errors.md`. The keys are its headings. */
export const errorClasses = {
  request: requestErrors,
  access: accessErrors,
  state: stateErrors,
  options: optionErrors,
  clusters: clusterErrors,
  migration: migrationErrors,
  availability: availabilityErrors,
  internal: internalErrors,
} as const;

/** Every failure by name. Names are stable, since clients compare them. */
export const errorTable = {
  ...requestErrors,
  ...accessErrors,
  ...stateErrors,
  ...optionErrors,
  ...clusterErrors,
  ...migrationErrors,
  ...availabilityErrors,
  ...internalErrors,
};

/** The value of a failure body's `error`. */
export type ErrorName = keyof typeof errorTable;

/** Whether a text, for example one received over the network, is a name of the table. */
export function isErrorName(text: string): text is ErrorName {
  return Object.hasOwn(errorTable, text);
}
