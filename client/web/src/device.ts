// What records and sends. A page loads this file once the person has agreed.

import type { Limits } from "./collection.js";
import { Recorder } from "./recorder.js";
import type { Store } from "./store.js";
import type { Tabs } from "./tabs.js";
import { type Parts, Uploader } from "./uploader.js";

export interface DeviceParts extends Parts {
  readonly limits: Limits;
  readonly visitSeconds: number;
}

export class Device {
  readonly recorder: Recorder;
  readonly uploader: Uploader;

  constructor(store: Store, tabs: Tabs, parts: DeviceParts) {
    this.recorder = new Recorder(store, parts.limits, parts.visitSeconds);
    this.uploader = new Uploader(store, tabs, parts);
  }
}
