import { newMessage as build } from '../protocol/build.ts'
import type * as A2A from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { withAlias } from './alias.ts'

/** One turn of a conversation. */
export type Message = A2A.Message
/** Content of a message or artifact. */
export type Part = A2A.Part
/** The Python SDK's first name of Part. */
export type MessagePart = Part
/** A part that holds text. */
export type TextPart = A2A.TextPart
/** A part that holds JSON; its media type has the Python SDK's name too. */
export type DataPart = A2A.DataPart & { readonly mimeType?: string }
/** A part that holds a file, its bytes or where it is. */
export type FilePart = A2A.RawPart | A2A.UrlPart
/** Who wrote a message. */
export type Role = A2A.Role

/** A file by its bytes, base64 encoded. */
export interface FileWithBytes extends FileDetails {
  /** Base64. */
  readonly bytes: string
}

/** A file by its address. */
export interface FileWithUri extends FileDetails {
  readonly uri: string
}

/** What is known of a file beside its content. */
export interface FileDetails {
  readonly name?: string
  /** The MIME type of the content. */
  readonly mimeType?: string
}

/** What every part may carry beside its content. */
export interface PartOptions {
  readonly metadata?: A2A.JsonObject
}

/** The two roles, by the Python SDK's names. */
export const Role: { readonly user: 'ROLE_USER'; readonly agent: 'ROLE_AGENT' } = {
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
}

/** A message as its author writes it; an id is made up where there is none. */
export interface MessageDraft extends Omit<Message, 'messageId' | 'role'> {
  readonly role: Role | keyof typeof Role
  readonly messageId?: string
}

/** Makes a message: `Message({ role: Role.user, parts: [TextPart({ text })] })`. */
export function Message(draft: MessageDraft): Message {
  const role = draft.role === 'user' || draft.role === 'agent' ? Role[draft.role] : draft.role
  return { ...draft, role, messageId: draft.messageId ?? newId() }
}

/** A message with one text part: `newMessage('ROLE_USER', text, contextId)`, or with ids by name. */
export function newMessage(
  role: Role,
  content: string | readonly Part[],
  context?: string | null | { readonly contextId?: string; readonly taskId?: string },
): Message {
  const ids = typeof context === 'string' ? { contextId: context } : (context ?? {})
  return build(role, content, ids)
}

/** Makes a text part: `TextPart({ text })`. */
export function TextPart(part: PartOptions & { readonly text: string }): TextPart {
  return { ...part }
}

/** Makes a data part: `DataPart({ data, mimeType })`. */
export function DataPart(
  part: PartOptions & { readonly data: A2A.Json; readonly mimeType?: string },
): DataPart {
  const { mimeType, ...rest } = part
  return mimeType === undefined ? rest : withAlias({ ...rest, mediaType: mimeType }, { mimeType })
}

/** Makes a file part: `FilePart({ file: FileWithUri({ uri }) })`. */
export function FilePart(
  part: PartOptions & { readonly file: FileWithBytes | FileWithUri },
): FilePart {
  const { file, ...rest } = part
  return {
    ...('bytes' in file ? { raw: file.bytes } : { url: file.uri }),
    ...(file.name !== undefined && { filename: file.name }),
    ...(file.mimeType !== undefined && { mediaType: file.mimeType }),
    ...rest,
  }
}

/** Makes a file by its bytes. */
export function FileWithBytes(file: FileWithBytes): FileWithBytes {
  return { ...file }
}

/** Makes a file by its address. */
export function FileWithUri(file: FileWithUri): FileWithUri {
  return { ...file }
}
