//! Family `dispatch`: order and number of queued requests sent to flash.

/// Decides when a queued request is dispatched.
pub trait Dispatch {
    /// True if the oldest queued request may be dispatched while `in_service` others are in service.
    fn admits(&self, in_service: u32) -> bool;
}

wordline_firmware::policies! {
    family "dispatch" decides "when queued requests are dispatched to flash";
    trait Dispatch, config DispatchConfig, policy DispatchPolicy;
    members {
        /// In the order of arrival.
        "fifo" => fifo::Fifo,
    }
    methods {
        fn admits(self: &Self, in_service: u32) -> bool;
    }
}
