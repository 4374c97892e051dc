import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { changeRows, type SqlStore, type SqlValue } from './sql-store.ts'

/**
 * Kysely over a store: one message per query, without connections or transactions. The SQL is SQLite's; the store of PostgreSQL
 * translates it.
 */
export const createStoreDialect = (file: SqlStore): Dialect => ({
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => createMessageDriver(file),
  createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
})

function createMessageDriver(file: SqlStore): Driver {
  const connection: DatabaseConnection = {
    executeQuery: <Row>(query: CompiledQuery) => execute(file, query) as Promise<QueryResult<Row>>,
    streamQuery: () => {
      throw new Error('Queries are not streamed: select pages instead')
    },
  }
  const refuse = async (): Promise<never> => {
    // Between two messages the store serves other callers, which would run inside the transaction.
    throw new Error('There are no interactive transactions: pass a list of statements to SqlStore.atomic')
  }
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    // The owner of the file closes it.
    destroy: async () => {},
  }
}

async function execute(file: SqlStore, { query, sql, parameters }: CompiledQuery): Promise<QueryResult<unknown>> {
  const values = parameters as SqlValue[]
  const isRead = query.kind === 'SelectQueryNode' || query.kind === 'RawNode'
  if (isRead || ('returning' in query && query.returning !== undefined)) return { rows: await file.all(sql, values) }
  return { rows: [], numAffectedRows: BigInt(await changeRows(file, sql, values)) }
}
