import { flag, read, scalar, wrong } from './scalars.ts'
import { list, section } from './section.ts'

export const consoleSchema = section('The web console, where people make keys and see their money.', {
  enabled: flag('Whether it is served, under /console.').prefault(true),
  hosts: list(
    'Further host names, without ports, under which people open it; that of server.public_url is one already.',
    scalar('A host name.', { type: 'string', examples: ['millrace.internal'] }, (value) =>
      typeof value === 'string' && isHostName(value)
        ? read(value.toLowerCase())
        : wrong('a host name such as millrace.internal', 'Without scheme, port and path.'),
    ),
  ),
  // TLS in front of the server is the honest cure; this is for networks that somebody trusts entirely.
  allow_http: flag('Whether people may sign in over plain HTTP from other machines.').prefault(false),
})

const isHostName = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text)
