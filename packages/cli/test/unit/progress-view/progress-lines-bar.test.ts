import { expect, test } from 'vitest';
import { formatBar } from '../../../src/progress-view/progress-lines.js';

test.each([
  [0, '[----------]'],
  [50, '[#####-----]'],
  [100, '[##########]'],
  [170, '[##########]'],
])('%d percent fill their part of the bar', (percent, bar) => expect(formatBar(percent, 10)).toBe(bar));
