import { describe, expect, it } from 'vitest';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { HandledCommands } from '../../../src/fleet/command-worker.js';

const accepted: CommandResult = { success: true };

describe('HandledCommands', () => {
  it('handles a command once, even while it is running', async () => {
    const commands = new HandledCommands();
    let handled = 0;
    const handle = (): Promise<CommandResult> => {
      handled += 1;
      return Promise.resolve(accepted);
    };
    await Promise.all([commands.once('a', handle), commands.once('a', handle)]);
    await commands.once('a', handle);
    expect(handled).toBe(1);
  });

  it('allows a retry after an error', async () => {
    const commands = new HandledCommands();
    await expect(commands.once('a', () => Promise.reject(new Error('later')))).rejects.toThrow('later');
    expect(await commands.once('a', () => Promise.resolve(accepted))).toEqual(accepted);
  });

  it('drops the oldest of many', async () => {
    const commands = new HandledCommands();
    for (let at = 0; at <= 256; at += 1) await commands.once(String(at), () => Promise.resolve(accepted));
    let again = 0;
    const count = (): Promise<CommandResult> => {
      again += 1;
      return Promise.resolve(accepted);
    };
    await commands.once('256', count);
    await commands.once('0', count);
    expect(again).toBe(1);
  });
});
