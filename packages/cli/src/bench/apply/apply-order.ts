import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

/** The order of a process for ready-made writes, as JSON in its argument. */
export interface ApplyOrder {
  /** Connection string of the router to write to. */
  target: string;
  workload: ApplyWorkload;
  form: BatchForm;
}
