import { writeFileSync } from 'node:fs';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runCommand } from '../../command-host.js';
import { expect, test } from 'vitest';
import {
  NotificationReceiver,
  receiverSecret,
} from '../../../../coordinator/test/integration/notification-receiver.js';

test('notify sends a test to every receiver of a configuration, and fails if one does not accept it', async () => {
  using folder = ScratchFolder.create('test');
  const [pager, chat] = [await NotificationReceiver.start(), await NotificationReceiver.start()];
  const [file, secretFile] = [folder.file('coordinator.json'), folder.file('secret')];
  writeFileSync(secretFile, `${receiverSecret}\n`);
  const receivers = [
    { name: 'pager', url: pager.url, secret: { file: secretFile } },
    { name: 'chat', url: chat.url, secret: { file: secretFile }, events: ['failed'] },
  ];
  writeFileSync(file, JSON.stringify({ redis: 'redis://unused', fleet: 'shop', notify: { receivers } }));
  expect(await runCommand('notify', '--config', file)).toEqual({
    code: 0,
    stdout: 'pager: accepted (HTTP 204)\nchat: accepted (HTTP 204)\n',
    stderr: '',
  });
  expect(pager.arrivals).toMatchObject([{ event: 'test', isSigned: true, body: { fleet: 'shop' } }]);
  chat.answer = (response) => void response.writeHead(404).end();
  expect(await runCommand('notify', '--config', file)).toMatchObject({
    code: 1,
    stdout: 'pager: accepted (HTTP 204)\nchat: not accepted (HTTP 404). Check url, and the log of the receiver.\n',
  });
  const { stdout } = await runCommand('notify', '--config', file, '--json');
  expect(JSON.parse(stdout)).toEqual({
    receivers: [
      { receiver: 'pager', accepted: true, reason: 'HTTP 204' },
      { receiver: 'chat', accepted: false, reason: 'HTTP 404' },
    ],
  });
  pager.close();
  chat.close();
});

test('notify without receivers, or without the file of a secret, names the setting', async () => {
  using folder = ScratchFolder.create('test');
  const file = folder.file('coordinator.json');
  writeFileSync(file, '{}');
  expect(await runCommand('notify', '--config', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('invalidConfiguration: notify: is required') as string,
  });
  const receiver = { name: 'pager', url: 'http://127.0.0.1:1/', secret: { file: folder.file('none') } };
  writeFileSync(file, JSON.stringify({ notify: { receivers: [receiver] } }));
  expect(await runCommand('notify', '--config', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the file cannot be read (ENOENT)') as string,
  });
});
