import { expect, it } from 'vitest';
import { idleProgress } from '@convoy/api/contract/progress';
import { JsonLinesView } from '../../../src/progress-view/live-view.js';

it('writes only changed progress', () => {
  let written = '';
  const view = new JsonLinesView({ write: (text) => (written += text) });
  const progress = idleProgress();
  view.show(progress);
  view.show({ ...progress });
  view.show({ ...progress, lagTimeSeconds: 3 });
  view.end();
  expect(
    written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([progress, { ...progress, lagTimeSeconds: 3 }]);
});
