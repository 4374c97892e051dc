/** A certificate that expires sooner has probably not been renewed. */
export const EXPIRY_WARNING_DAYS = 21

/** What `millrace doctor` knows. docs/operate/doctor.md is generated from this table, and each fault has a test that causes it. */
export interface Fault {
  readonly area: (typeof AREAS)[number]
  /** `broken`: the server does not start, or does not serve as configured. */
  readonly severity: 'broken' | 'warning'
  readonly what: string
  readonly why: string
  readonly cure: string
}

export const AREAS = [
  'configuration',
  'machine',
  'data folder',
  'ports',
  'TLS',
  'PostgreSQL',
  'server',
  'providers',
] as const

/** Fewer bytes free on the disk of the data folder are a fault. The journal alone keeps some of them allocated. */
export const FREE_BYTES_MIN = 512 * 1024 * 1024

const configuration = {
  'config-file-missing': {
    severity: 'broken',
    what: 'The named configuration file does not exist or cannot be read.',
    why: 'A server that is told to use a file does not start without it.',
    cure: 'Correct the path in --config or MILLRACE_CONFIG, or create the file: millrace init FILE',
  },
  'config-invalid': {
    severity: 'broken',
    what: 'The configuration has a mistake: syntax, an unknown key, a wrong value, or a name that does not exist.',
    why: 'The server does not start with it; a running server keeps the previous configuration.',
    cure: 'Correct the named line. millrace check lists all mistakes.',
  },
  'secret-missing': {
    severity: 'broken',
    what: 'A variable or secret file that the configuration refers to has no value.',
    why: 'The server does not start with an empty credential that it was not told to accept.',
    cure: `Set the variable or create the file, or give a default: \${NAME:-default}`,
  },
  'tls-pair-broken': {
    severity: 'broken',
    what: 'The certificate or the key of server.tls cannot be read, is not PEM, or they do not belong together.',
    why: 'The server does not start with it; a running server keeps the previous pair.',
    cure: 'Write both files of one certificate: the chain, and its key without a passphrase.',
  },
  'tls-expired': {
    severity: 'broken',
    what: 'The certificate of server.tls has expired.',
    why: 'Clients refuse to connect.',
    cure: 'Renew it. The server takes the new files without a restart.',
  },
  'tls-expires-soon': {
    severity: 'warning',
    what: 'The certificate of server.tls expires within 21 days.',
    why: 'It has probably not been renewed; after that day clients refuse to connect.',
    cure: 'Renew it. The server takes the new files without a restart.',
  },
  'tls-name-differs': {
    severity: 'warning',
    what: 'The certificate of server.tls is not for the host of server.public_url.',
    why: 'Clients that use the public URL refuse to connect.',
    cure: 'Get a certificate for this name, or correct server.public_url.',
  },
  'imports-not-pinned': {
    severity: 'broken',
    what: 'The models of an import are not pinned, or the file of pins cannot be read.',
    why: 'Without pins an upgrade of Millrace would change your prices, so the server does not start.',
    cure: 'Pin them: millrace check --pin',
  },
  'pins-outdated': {
    severity: 'warning',
    what: 'The catalogue of this version has other prices or models than the pins of your imports.',
    why: 'You may sell at a loss, or not offer new models. The server uses the pins.',
    cure: 'Look at the differences, then take them over: millrace check --pin',
  },
  'pinned-price-ends': {
    severity: 'warning',
    what: 'The provider has announced another price than the pinned one of an import, from a day that is over or within 30 days.',
    why: 'From that day on you may sell at a loss. The server uses the pin.',
    cure: 'Take the new price over with a version of Millrace whose catalogue has it: millrace check --pin. Or list the model in models, with a price of your own.',
  },
  'no-models': {
    severity: 'warning',
    what: 'The configuration file has no upstream and no model.',
    why: 'Clients can call nothing.',
    cure: 'Write a template to start from: millrace init',
  },
  'model-without-price': {
    severity: 'warning',
    what: 'A model has no price.',
    why: 'No key can call a model without a price; a free model has the price "0".',
    cure: 'Set price: { input, output } of the model.',
  },
  'model-sold-at-loss': {
    severity: 'warning',
    what: 'A model is sold below what its provider charges.',
    why: 'Each request of it costs you money.',
    cure: 'Raise the price. millrace catalog shows both prices.',
  },
  'context-too-small': {
    severity: 'warning',
    what: 'context_tokens is smaller than the context of the model.',
    why: 'Millrace refuses long requests that the model could answer.',
    cure: 'Set context_tokens to the context of the model. millrace catalog shows it.',
  },
  'context-too-large': {
    severity: 'warning',
    what: 'context_tokens is larger than the context of the model.',
    why: 'The provider refuses long requests that Millrace accepts.',
    cure: 'Set context_tokens to the context of the model. millrace catalog shows it.',
  },
  'tools-refused-on-chat': {
    severity: 'warning',
    what: 'A lane calls a model of OpenAI over Chat Completions that takes tools there only without reasoning.',
    why: 'From GPT-5.6 to GPT-6.1, OpenAI answers 400 to tools beside an effort: agents fail at their first request.',
    cure: 'Use an upstream with wire: responses for the lane.',
  },
  'upstream-unused': {
    severity: 'warning',
    what: 'No lane uses an upstream.',
    why: 'It is probably left over, or the model that should use it is missing.',
    cure: 'Add a lane with this upstream to a model, or remove the upstream.',
  },
  'upstream-without-key': {
    severity: 'warning',
    what: 'An upstream at a public address has no api_key and no header with a credential.',
    why: 'The provider answers 401, which clients see as 503 provider_misconfigured.',
    cure: `Set api_key: "\${NAME}" of the upstream, and the variable.`,
  },
  'plan-opens-nothing': {
    severity: 'warning',
    what: 'No model of a plan accepts builder keys.',
    why: 'Subscribers of the plan can call nothing.',
    cure: 'Add builder to kinds of a model of the plan, or other models to the plan.',
  },
  'secret-file-open': {
    severity: 'warning',
    what: 'Other users of this machine can read a file with a secret.',
    why: 'They can use the credential.',
    cure: 'Close it: chmod o= FILE',
  },
  'config-file-open': {
    severity: 'warning',
    what: 'The configuration contains a credential, and other users of this machine can read it.',
    why: 'They can use the credential.',
    cure: `Close the file (chmod o= FILE), or move the credential out of it: \${NAME} or \${file:/path}`,
  },
  'proxy-not-trusted': {
    severity: 'warning',
    what: 'server.public_url is https, and neither server.tls nor server.trust_proxy is set.',
    why: 'All clients seem to have the address of the proxy, so they share one limit, and sign-in fails with https_needed.',
    cure: 'Set server.trust_proxy to the address of the proxy, such as [10.0.0.0/8].',
  },
  'proxy-trusts-all': {
    severity: 'warning',
    what: 'server.trust_proxy contains every address.',
    why: 'Any client can invent its address in X-Forwarded-For, and so avoid the limits of addresses.',
    cure: 'List only the addresses of your proxies.',
  },
  'keys-unencrypted': {
    severity: 'warning',
    what: 'The server accepts other machines, without TLS of its own and without an https public_url.',
    why: 'API keys and prompts cross the network unencrypted.',
    cure: 'Set server.tls, or put a proxy with TLS in front and set server.public_url.',
  },
} as const satisfies Group

const machine = {
  'node-too-old': {
    severity: 'broken',
    what: 'This Node is older than the oldest supported one.',
    why: 'The server uses functions that this Node does not have.',
    cure: 'Install Node 20.19 or newer.',
  },
  'variable-ignored': {
    severity: 'warning',
    what: 'A variable begins with MILLRACE_ and has no effect.',
    why: 'It is probably misspelled: the levels of a key are separated by two underscores.',
    cure: 'Correct its name, such as MILLRACE_SERVER__PORT, or unset it.',
  },
  'too-few-open-files': {
    severity: 'warning',
    what: 'The limit of open files is below server.max_connections.',
    why: 'Connections fail before the configured limit is reached.',
    cure: 'Raise it (ulimit -n, LimitNOFILE= of systemd), or lower server.max_connections.',
  },
  'memory-budget-too-large': {
    severity: 'broken',
    what: 'overload.memory_budget is larger than the memory of the machine or container, divided by the workers.',
    why: 'Under load the kernel ends the process before the server sheds requests.',
    cure: 'Set overload.memory_budget to auto, or give the container more memory.',
  },
} as const satisfies Group

const dataFolder = {
  'data-not-a-folder': {
    severity: 'broken',
    what: 'The path of the data folder is a file.',
    why: 'The server cannot store anything there.',
    cure: 'Name a folder with --data, MILLRACE_DATA or storage.data.',
  },
  'data-not-writable': {
    severity: 'broken',
    what: 'The data folder or a file in it belongs to another user, or is read-only.',
    why: 'The server cannot write its ledger.',
    cure: 'Give it to the user that runs the server: chown -R USER FOLDER',
  },
  'data-open': {
    severity: 'warning',
    what: 'Other users of this machine can look into the data folder.',
    why: 'Balances, key digests and usage can be read there.',
    cure: 'Close it: chmod 700 FOLDER',
  },
  'disk-nearly-full': {
    severity: 'broken',
    what: 'The disk of the data folder has less than 512 MiB left.',
    why: 'When it is full the ledger cannot be written, and new requests get 503 ledger_unavailable.',
    cure: 'Free space, or move the data folder to a larger disk.',
  },
  'clock-behind': {
    severity: 'broken',
    what: 'The clock of this machine is behind the newest file of the data folder.',
    why: 'Windows, caps, sessions and expiry dates end too late.',
    cure: 'Set the clock (timedatectl set-ntp true), then see: millrace db clock',
  },
  'data-is-backup': {
    severity: 'broken',
    what: 'The data folder is a backup.',
    why: 'Servers and commands would change it, so they refuse it.',
    cure: 'Restore it into another folder: docs/operate/backup.md#restore. A copy made by hand: delete its backup.json.',
  },
  'move-unfinished': {
    severity: 'broken',
    what: 'A move of a ledger into this folder has not finished.',
    why: 'Nothing starts on a part of a ledger.',
    cure: 'Run the same millrace db move again; until it ends, use the storage that it moves from.',
  },
  'ledger-missing': {
    severity: 'broken',
    what: 'ledger.db is missing or empty, and other files of a ledger are there.',
    why: 'The server does not create a new ledger beside the files of another one.',
    cure: 'Restore ledger.db from a backup, or move the other files to another folder.',
  },
  'ledger-damaged': {
    severity: 'broken',
    what: 'ledger.db is damaged or is not a database.',
    why: 'The server does not start on it.',
    cure: 'Keep the file, and restore a backup: docs/operate/running.md#backup-and-restore',
  },
  'ledger-newer': {
    severity: 'broken',
    what: 'A newer Millrace has written ledger.db.',
    why: 'This version does not know its tables, and does not start on it.',
    cure: 'Start the newer version, or restore a backup made before the update.',
  },
  'keyring-missing': {
    severity: 'broken',
    what: 'keyring.json is missing, and the ledger was begun with it.',
    why: 'No API key would be recognised, and nothing sealed could be read.',
    cure: 'Restore keyring.json, or set MILLRACE_SECRET_KEY if the ledger was begun with that: docs/operate/key-ring.md',
  },
  'keyring-damaged': {
    severity: 'broken',
    what: 'keyring.json is not a key ring.',
    why: 'The server does not start without its secrets.',
    cure: 'Restore keyring.json from a backup: docs/operate/key-ring.md',
  },
  'keyring-foreign': {
    severity: 'broken',
    what: 'The key that the ledger was begun with is not on the key ring.',
    why: 'No API key would be recognised, so the server does not start.',
    cure: 'Put the former key back on the ring, primary or not: docs/operate/key-ring.md',
  },
  'keyring-open': {
    severity: 'warning',
    what: 'Other users of this machine can read keyring.json.',
    why: 'They can open everything that the server has sealed.',
    cure: 'Close it: chmod 600 FILE. Then rotate the key: docs/operate/key-ring.md',
  },
  'files-set-aside': {
    severity: 'warning',
    what: 'The data folder has files that the server has set aside.',
    why: 'They were damaged or belong to another ledger, and are not used.',
    cure: 'Look at them, then delete them: docs/operate/running.md#backup-and-restore',
  },
  'unclean-stop': {
    severity: 'warning',
    what: 'The last server on this data folder was killed, or the machine lost power.',
    why: 'Open holds keep balances reserved until the next start settles them.',
    cure: 'Start the server: it checks the files and settles what is open.',
  },
} as const satisfies Group

const ports = {
  'port-taken': {
    severity: 'broken',
    what: 'Another process listens on server.port.',
    why: 'The server does not start.',
    cure: 'Stop the other process, or choose another port: --port',
  },
  'metrics-port-taken': {
    severity: 'broken',
    what: 'Another process listens on the configured server.metrics_port.',
    why: 'The server does not start.',
    cure: 'Choose another port: --metrics-port; 0 takes any free one.',
  },
  'metrics-port-moves': {
    severity: 'warning',
    what: 'Another process listens on 4601, the default of server.metrics_port.',
    why: 'The server takes another free port, which your monitoring does not know.',
    cure: 'Choose a port for each instance: --metrics-port, or server.metrics_port',
  },
  'host-not-here': {
    severity: 'broken',
    what: 'server.host or server.metrics_host is not an address of this machine, or this user may not listen on the port.',
    why: 'The server does not start.',
    cure: 'Use 127.0.0.1, 0.0.0.0 or an address of this machine, and a port above 1023.',
  },
} as const satisfies Group

const server = {
  'server-unresponsive': {
    severity: 'broken',
    what: 'A server runs on this data folder and does not answer its admin socket.',
    why: 'Operator commands cannot reach it, and its event loop may be stuck.',
    cure: 'Look at its log, then restart it.',
  },
  'server-other-version': {
    severity: 'warning',
    what: 'The running server has another version than this command.',
    why: 'Operator commands of another version are refused.',
    cure: 'Restart the server with this version, or use the commands of its version.',
  },
  'reload-refused': {
    severity: 'broken',
    what: 'The running server has refused the configuration on disk.',
    why: 'It serves with the previous one, and would not start again.',
    cure: 'Correct the file: millrace check. The server then reloads it.',
  },
  'role-account-unknown': {
    severity: 'warning',
    what: 'A group of sign_in gives a role in an account that the running server does not have.',
    why: 'People of that group are refused, or get the role of another group.',
    cure: 'Correct the account, or create it: millrace accounts create EMAIL',
  },
  'job-key-unknown': {
    severity: 'warning',
    what: 'A rule of keyless names a key that the running server does not have, or that is revoked.',
    why: 'The jobs of that rule get no key.',
    cure: 'Correct the id: millrace keys list. Or create the key: millrace keys create',
  },
  'ledger-unavailable': {
    severity: 'broken',
    what: 'The running server cannot write its ledger.',
    why: 'Every new request gets 503 ledger_unavailable.',
    cure: 'Free disk space, or replace the disk; the log has the reason. Serving resumes without a restart.',
  },
} as const satisfies Group

const postgres = {
  'postgres-unreachable': {
    severity: 'broken',
    what: 'PostgreSQL does not answer, or refuses the user, the password or the database.',
    why: 'The server does not start.',
    cure: 'Correct storage.database, and check that PostgreSQL runs and accepts this machine (pg_hba.conf).',
  },
  'postgres-unsuitable': {
    severity: 'broken',
    what: 'PostgreSQL has a version, an encoding or a setting with which money is not safe.',
    why: 'The server does not start on it.',
    cure: 'Change the setting that the message names: docs/operate/postgres.md',
  },
  'postgres-too-few-connections': {
    severity: 'broken',
    what: 'max_connections of PostgreSQL is smaller than what the workers of this server use.',
    why: 'Under load queries fail, and requests get 503 ledger_unavailable.',
    cure: 'Raise max_connections, or lower server.workers: docs/operate/postgres.md',
  },
} as const satisfies Group

const providers = {
  'lane-failed': {
    severity: 'broken',
    what: 'A provider does not answer a short request (only with --online).',
    why: 'Requests on this lane fail over to others, or fail.',
    cure: 'See what the provider says: millrace upstreams test',
  },
  'card-payments-fail': {
    severity: 'broken',
    what: 'Stripe does not answer, refuses the key, or does not have a price of payments.stripe (only with --online).',
    why: 'Account owners cannot pay by card.',
    cure: 'Correct the key or the price in payments.stripe.',
  },
} as const satisfies Group

type Group = Readonly<Record<string, Omit<Fault, 'area'>>>

const within = <Of extends Group>(area: Fault['area'], group: Of) =>
  Object.fromEntries(Object.entries(group).map(([id, fault]) => [id, { area, ...fault }])) as Readonly<
    Record<keyof Of, Fault>
  >

export const FAULTS = {
  ...within('configuration', configuration),
  ...within('machine', machine),
  ...within('data folder', dataFolder),
  ...within('ports', ports),
  ...within('PostgreSQL', postgres),
  ...within('server', server),
  ...within('providers', providers),
}

export type FaultId = keyof typeof FAULTS

/** One fault as it was found. */
export interface Found {
  readonly fault: FaultId
  /** What exactly is wrong, and where. */
  readonly message: string
  readonly cure: string
}

export const found = (fault: FaultId, message: string, cure: string = FAULTS[fault].cure): Found => ({
  fault,
  message,
  cure,
})
