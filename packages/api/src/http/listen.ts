import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';

/** Listen address of a service. */
export interface ListenSettings {
  /** Address or name of this host. */
  readonly listen: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/**
 * Makes a server listen.
 * @returns its URL
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
        `Another program already listens on ${address}. Stop it or set another port (--port or CONVOY_PORT).`,
        { cause: error },
      );
    case 'EACCES':
      return new ConvoyError(
        'invalidConfiguration',
        `port: this user may not listen on ${address}; set a port above 1023 (--port or CONVOY_PORT)`,
        { cause: error },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ConvoyError(
        'invalidConfiguration',
        `listen: ${listen} is not an address of this host; set one that is (--listen or CONVOY_LISTEN)`,
        { cause: error },
      );
    default:
      return error;
  }
}
