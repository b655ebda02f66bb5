import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';

/** Where a service is to listen. */
export interface ListenSettings {
  /** Address or name of this machine. */
  readonly listen: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/**
 * Lets a server listen.
 * @returns the address that it listens on, as a URL
 * @throws ConvoyError `addressTaken`, or `invalidConfiguration` that names the setting
 */
export async function listenOn(
  app: Pick<FastifyInstance, 'listen'>,
  { listen, port }: ListenSettings,
): Promise<string> {
  try {
    return await app.listen({ host: listen, port });
  } catch (error) {
    throw explained(error, listen, port);
  }
}

function explained(error: unknown, listen: string, port: number): unknown {
  const address = `${listen.includes(':') ? `[${listen}]` : listen}:${port}`;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new ConvoyError(
        'addressTaken',
        `Another program listens on ${address} already; end it, or give another port (--port or CONVOY_PORT).`,
        { cause: error },
      );
    case 'EACCES':
      return new ConvoyError(
        'invalidConfiguration',
        `port: this user may not listen on ${address}; give a port above 1023 (--port or CONVOY_PORT)`,
        { cause: error },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ConvoyError(
        'invalidConfiguration',
        `listen: ${listen} is no address of this machine; give one that is (--listen or CONVOY_LISTEN)`,
        { cause: error },
      );
    default:
      return error;
  }
}
