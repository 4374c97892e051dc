export interface PostgresServer {
  /** Where the socket lies; as a host name it makes drivers connect there. */
  readonly host: string
  readonly user: string
  readonly version: string
  /** The folder of its files. */
  readonly data: string
  /** Without a checkpoint, as after a power failure that the disk survived. */
  crash(): Promise<void>
  /** As an operator stops it before a restart. */
  shutDown(): Promise<void>
  startAgain(): Promise<void>
  stop(): Promise<void>
}

export function findPostgresPrograms(): string | undefined
export function startPostgres(
  programs: string,
  options?: {
    readonly fsync?: boolean
    readonly copyOf?: PostgresServer
    readonly environment?: Readonly<Record<string, string>>
  },
): Promise<PostgresServer>
