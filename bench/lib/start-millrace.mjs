import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAccount, createKey, placeIn, startServer } from '../../test/program/program.mjs'

const EMAIL = 'bench@localhost'

/** The real program on a free port with a data folder of its own, one account with money, and one wallet key. */
export async function startMillrace(folder, configText, { dist, nodeFlags, environment } = {}) {
  const place = placeIn(folder, { dist, environment })
  writeFileSync(place.config, configText)
  await createAccount(place, { email: EMAIL, credit: '1000000' })
  const { key } = await createKey(place, { email: EMAIL })
  const child = startServer(place, { nodeFlags, logPath: join(folder, 'log') })
  const port = Number(new URL(await child.ready).port)
  return { child, pid: child.pid, port, headers: { authorization: `Bearer ${key}` } }
}
