import type { TestProject } from 'vitest/node'
import { findPostgresPrograms, startPostgres } from '../program/postgres.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Undefined: there is no PostgreSQL on this machine. */
    postgres: { readonly host: string; readonly user: string } | undefined
  }
}

/** One server for all suites of a run; each test file makes a database of its own on it. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const programs = findPostgresPrograms()
  if (programs === undefined) {
    project.provide('postgres', undefined)
    console.log('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): its suites are skipped.')
    return undefined
  }
  const { host, user, version, stop } = await startPostgres(programs)
  console.log(`${version} for the tests, without fsync, in ${host}`)
  project.provide('postgres', { host, user })
  return stop
}
