/** A step that need not be equal. It counts as different all the same. */
export interface ExcusedStep {
  /** `file:step`. */
  readonly step: string;
  readonly reason: string;
}

export const excusedSteps: readonly ExcusedStep[] = [];
