/*
 * Loaded into instances by `--import`: appends every step that the leader has done, and when, to a file as a line of JSON.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { stepChannel } from '@convoy/instance/lifecycle/migration/steps';

subscribe(stepChannel, (message) => {
  const file = process.env['CONVOY_STEP_LOG'];
  if (file === undefined) return;
  const { step } = message as { step: string };
  appendFileSync(file, `${JSON.stringify({ step, at_ms: Date.now() })}\n`);
});
