/*
 * Instances load it by `--import`. It appends every finished step of the leader, with its time, to a file as JSON
 * lines.
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
