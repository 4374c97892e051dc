import type pg from 'pg'

/** What a connection of the driver offers for COPY. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Sends lines to `COPY … FROM STDIN` and resolves when the server has them. The driver calls these functions in turn. */
export function copyIn(client: pg.Client, sql: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = {
      submit: (connection: unknown) => (connection as CopyConnection).query(sql),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(Buffer.from(lines))
        connection.endCopyFrom()
      },
      handleCommandComplete() {},
      handleReadyForQuery: () => resolve(),
      handleError: (error: Error) => reject(error),
    }
    client.query(query)
  })
}
