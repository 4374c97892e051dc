export interface PgBouncer {
  urlOf(database: string): string
  stop(): Promise<void>
}

export function findPgBouncer(): string | undefined
export function startPgBouncer(
  program: string,
  postgres: { readonly host: string; readonly user: string },
): Promise<PgBouncer>
