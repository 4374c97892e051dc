import { readServerFile } from './server-file.ts'

/** Who has the data folder, as far as its own note tells. */
export async function describeHolder(data: string): Promise<string> {
  const server = await readServerFile(data)
  const holder =
    server !== undefined && isAlive(server.pid)
      ? `pid ${server.pid} (millrace ${server.version}${server.url === null ? ', starting' : `, ${server.url}`})`
      : 'another process'
  return `The data folder ${data} is in use by ${holder}. Use --data for another one, or see: millrace status`
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process is there, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
