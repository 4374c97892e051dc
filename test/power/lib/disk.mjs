import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A drive writes a sector whole or not at all; a file system mostly writes pages. */
const TORN_BYTES = [512, 4096]

/** A disk that has seen the changes of a log up to some point. What was synced is durable; of the rest any part may be there. */
export function createDisk() {
  const root = createInode(true)
  /** The names as the program sees them. */
  const names = new Map([['.', root]])
  /** The names that are durable under both models of folders. */
  const durable = new Map([['.', root]])
  /** Changes of names that are not yet durable under both models, oldest first. */
  const pending = []
  const opened = new Map()
  const syncs = new Map()
  let sequence = 0

  const change = (entry) => pending.push({ sequence: ++sequence, isOrdered: false, isStrict: false, ...entry })

  /** A sync of anything makes all earlier names durable where names are journaled; else only that of their folder does. */
  function syncNames({ inode, from }) {
    for (const entry of pending) {
      if (entry.sequence > from) continue
      entry.isOrdered = true
      if (entry.folders.includes(inode)) entry.isStrict = true
    }
    while (pending[0]?.isOrdered && pending[0].isStrict) applyName(durable, pending.shift())
  }

  const apply = {
    open({ file, data, truncates, creates, existed, isFolder }) {
      const path = data.toString()
      let inode = names.get(path)
      if (inode === undefined) {
        if (existed || !creates) inode = createInode(isFolder)
        else inode = createInode(false)
        names.set(path, inode)
        if (existed || !creates) durable.set(path, inode)
        else change({ kind: 'link', path, inode, folders: [folderOf(names, path)] })
      }
      if (truncates && existed) inode.pending.push({ sequence: ++sequence, kind: 'size', size: 0 })
      opened.set(file, { inode, path })
    },
    write({ file, number: offset, data }) {
      opened.get(file).inode.pending.push({ sequence: ++sequence, kind: 'write', offset, data })
    },
    truncate({ file, number: size }) {
      opened.get(file).inode.pending.push({ sequence: ++sequence, kind: 'size', size })
    },
    'sync-begin'({ file, number }) {
      syncs.set(`${file.split(' ')[0]} ${number}`, { ...opened.get(file), from: sequence })
    },
    'sync-end'({ file, number }) {
      const sync = syncs.get(`${file.split(' ')[0]} ${number}`)
      const { inode, from } = sync
      const done = inode.pending.filter((entry) => entry.sequence <= from)
      inode.pending = inode.pending.filter((entry) => entry.sequence > from)
      for (const entry of done) applyContent(inode, entry)
      syncNames(sync)
    },
    close: ({ file }) => opened.delete(file),
    link({ data }) {
      const [from, path] = data.toString().split('\n')
      const inode = names.get(from)
      change({ kind: 'link', path, inode, folders: [folderOf(names, path)] })
      names.set(path, inode)
    },
    rename({ data }) {
      const [from, to] = data.toString().split('\n')
      change({ kind: 'rename', from, to, folders: [folderOf(names, from), folderOf(names, to)] })
      applyName(names, { kind: 'rename', from, to })
    },
    unlink({ data }) {
      const path = data.toString()
      change({ kind: 'unlink', path, folders: [folderOf(names, path)] })
      names.delete(path)
    },
    mkdir({ data }) {
      const path = data.toString()
      const inode = createInode(true)
      change({ kind: 'link', path, inode, folders: [folderOf(names, path)] })
      names.set(path, inode)
    },
    rmdir: (record) => apply.unlink(record),
    unknown({ data }) {
      throw new Error(`the program changes its files by ${data}, which this disk does not know`)
    },
  }

  return {
    /** Files that were there before, all of them durable. */
    preload(folder, within = '.') {
      for (const name of readdirSync(join(folder, within))) {
        const path = join(within, name)
        const stat = statSync(join(folder, path))
        if (!stat.isDirectory() && !stat.isFile()) continue
        const inode = createInode(stat.isDirectory())
        names.set(path, inode)
        durable.set(path, inode)
        if (inode.isFolder) this.preload(folder, path)
        else setContent(inode, readFileSync(join(folder, path)))
      }
    },
    apply: (record) => apply[record.kind](record),
    /** The paths of files with writes that no sync has made durable. */
    unsynced: () => [...names].filter(([, inode]) => inode.pending.length > 0).map(([path]) => path),
    /** Writes what the disk may hold after a cut now into a folder; says what became of what was not synced. */
    write: (target, random) => writeDisk({ target, random, durable, pending }),
  }
}

const createInode = (isFolder) => ({ isFolder, bytes: Buffer.alloc(0), size: 0, pending: [] })

function setContent(inode, bytes) {
  inode.bytes = bytes
  inode.size = bytes.length
}

const folderOf = (names, path) => names.get(dirname(path))

function applyName(names, { kind, path, inode, from, to }) {
  if (kind === 'link') names.set(path, inode)
  if (kind === 'unlink') names.delete(path)
  if (kind !== 'rename' || !names.has(from)) return
  names.set(to, names.get(from))
  names.delete(from)
}

function applyContent(file, { kind, offset, data, size }) {
  if (kind === 'write') {
    grow(file, offset + data.length)
    data.copy(file.bytes, offset)
    return
  }
  if (size > file.size) return grow(file, size)
  file.bytes.fill(0, size, file.size)
  file.size = size
}

function grow(file, size) {
  if (size > file.bytes.length) {
    const larger = Buffer.alloc(Math.max(size, 2 * file.bytes.length))
    file.bytes.copy(larger, 0, 0, file.size)
    file.bytes = larger
  }
  if (size > file.size) file.size = size
}

/** How the disk treats what was not synced: the whole extremes as well as anything between. */
const MOODS = ['none', 'all', 'prefix', 'subset', 'subset', 'torn', 'torn', 'torn']

function writeDisk({ target, random, durable, pending }) {
  const mood = random.pick(MOODS)
  const isStrict = random.chance(0.5)
  const fate = { mood, names: isStrict ? 'strict' : 'journaled', kept: 0, dropped: 0, torn: 0, namesLost: 0 }
  const names = namesAfter({ durable, pending, isStrict, mood, random, fate })
  mkdirSync(target, { recursive: true })
  const files = [...names].filter(([path]) => path !== '.').sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [path, inode] of files) {
    // Without its folder a file is not to be found.
    if (!names.has(dirname(path))) continue
    if (inode.isFolder) mkdirSync(join(target, path), { recursive: true, mode: 0o700 })
    else writeFileSync(join(target, path), contentAfter(inode, mood, random, fate), { mode: 0o600 })
  }
  return fate
}

/**
 * Journaled, as ext4, XFS and Btrfs are: names become durable in their order, at the latest with the next sync of anything.
 * Strict, as POSIX allows: each for itself, and surely only with a sync of its folder.
 */
function namesAfter({ durable, pending, isStrict, mood, random, fate }) {
  const names = new Map(durable)
  const unsynced = pending.filter((entry) => !(isStrict ? entry.isStrict : entry.isOrdered)).length
  let left = { none: 0, all: unsynced }[mood] ?? random.below(unsynced + 1)
  for (const entry of pending) {
    const isKept = isStrict
      ? entry.isStrict || mood === 'all' || (mood !== 'none' && random.chance(0.5))
      : entry.isOrdered || left-- > 0
    if (isKept) applyName(names, entry)
    else fate.namesLost += 1
  }
  return names
}

function contentAfter(inode, mood, random, fate) {
  const file = { bytes: Buffer.from(inode.bytes.subarray(0, inode.size)), size: inode.size }
  const count = inode.pending.length
  const prefix = random.below(count + 1)
  const keepChance = random.between(0.1, 0.95)
  let end = inode.size
  for (const [index, entry] of inode.pending.entries()) {
    end = entry.kind === 'size' ? entry.size : Math.max(end, entry.offset + entry.data.length)
    const isKept = { none: false, all: true, prefix: index < prefix }[mood] ?? random.chance(keepChance)
    if (mood === 'torn' && entry.kind === 'write' && random.chance(0.5)) {
      tear(file, entry, random, keepChance)
      fate.torn += 1
    } else if (isKept) {
      applyContent(file, entry)
      fate.kept += 1
    } else fate.dropped += 1
  }
  // The size may be durable before what lies there: zeros, or what the blocks held before.
  if (count > 0 && end > file.size && mood !== 'none' && random.chance(0.5)) {
    const before = file.size
    grow(file, end)
    if (random.chance(0.5)) for (let at = before; at < end; at++) file.bytes[at] = random.below(256)
  }
  return file.bytes.subarray(0, file.size)
}

function tear(file, { offset, data }, random, keepChance) {
  const bytes = random.pick(TORN_BYTES)
  for (let at = offset; at < offset + data.length; ) {
    const next = Math.min(offset + data.length, (Math.floor(at / bytes) + 1) * bytes)
    const part = data.subarray(at - offset, next - offset)
    if (random.chance(keepChance)) applyContent(file, { kind: 'write', offset: at, data: part })
    at = next
  }
}
