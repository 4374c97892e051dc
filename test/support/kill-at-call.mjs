// Loaded before a program (`node --import`): kills it right before its call number KILL_AT that changes the disk.
import { existsSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

let calls = 0
for (const name of ['appendFile', 'link', 'lchown', 'mkdir', 'open', 'rename', 'rm', 'rmdir']) {
  const call = promises[name]
  promises[name] = (path, ...more) => {
    const changes = name === 'rm' ? existsSync(path) : name !== 'open' || more[0] === 'wx'
    if (changes && ++calls === Number(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL')
    return call(path, ...more)
  }
}
syncBuiltinESMExports()
